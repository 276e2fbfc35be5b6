-- Sessions by cookie, or by a header with the same value. A cookie names an endpoint ("e" and a hash of its name), or a session ("s" and
-- a number drawn by chance; "c" if it belongs to a canary) whose endpoint is found on the ring.
-- Anything else is no cookie. Pure but for the cookie's text; its twin is src/outputs/nginx/affinity.ts.
local balance = require("lockstep.balance")
local peer_list = require("lockstep.peer_list")
local ring = require("lockstep.ring")

local _M = {}

-- Of the hash: 64 bits, so that no two endpoints of a service ever have the same.
local DIGITS = 16
-- How a page within another application calls itself at last.
local GECKO_END = "(KHTML, like Gecko)"

function _M.name_of(name)
    return "e" .. string.sub(ngx.md5(name), 1, DIGITS)
end

function _M.new_session(random_hex)
    return "s" .. string.sub(random_hex, 1, DIGITS)
end

-- The same session, belonging to a canary that its number would not lead to.
function _M.of_canary(session)
    return "c" .. string.sub(session, 2)
end

function _M.is_session(value)
    return #value == DIGITS + 1 and string.find(value, "^[sc]%x+$") ~= nil
end

function _M.is_of_canary(value)
    return _M.is_session(value) and string.sub(value, 1, 1) == "c"
end

-- By what cookies call it, the index of each endpoint.
local function named(service)
    local indexes = service.by_cookie
    if indexes == nil then
        indexes = {}
        for index, name in ipairs(peer_list.names(service)) do
            indexes[_M.name_of(name)] = index
        end
        service.by_cookie = indexes
    end
    return indexes
end

-- Whether the cookie names an endpoint of the service.
function _M.names(service, value)
    return named(service)[value] ~= nil
end

-- Whether it may serve now: it fits, and no tier before its own has one that does.
local function serves(service, index, ...)
    for _, tier in ipairs(service.tiers) do
        if index < tier.first + tier.count then
            return balance.fits(service, index, ...)
        end
        for better = tier.first, tier.first + tier.count - 1 do
            if balance.fits(service, better, ...) then
                return false
            end
        end
    end
    return false
end

-- The index of the endpoint that a cookie leads to, or nothing; and whether the cookie is one that
-- leads to an endpoint of the service, be it that it cannot serve now.
function _M.pick(service, value, tried, is_suspect)
    if _M.is_session(value) then
        return ring.pick(service, value, tried, is_suspect), true
    end
    local index = named(service)[value]
    if index == nil then
        return nil, false
    end
    return serves(service, index, tried, is_suspect, false) and index or nil, true
end

-- Whether these texts follow each other in it. Each is looked for once: a pattern with several places
-- for anything would try them all, for hours where a client means it.
local function has_in_order(text, ...)
    local from = 1
    for _, piece in ipairs({ ... }) do
        local _, last = text:find(piece, from, true)
        if last == nil then
            return false
        end
        from = last + 1
    end
    return true
end

local function chrome_version(agent)
    local at = agent:find("Chrom", 1, true)
    return at and tonumber(agent:match("^[^ /]+/(%d+)", at))
end

-- Browsers that know an older meaning of SameSite and refuse such a cookie, or take it for Strict
-- (the incompatible clients that Chromium lists).
local function misreads_none(agent)
    if agent == nil then
        return false
    end
    if has_in_order(agent, "iP", "; CPU ", "OS 12", "AppleWebKit/") then
        return true
    end
    if has_in_order(agent, "Macintosh;", "Mac OS X 10_14", "AppleWebKit/") then
        return has_in_order(agent, "Version/", "Safari/")
            or agent:sub(-#GECKO_END) == GECKO_END
    end
    local chrome = chrome_version(agent)
    return chrome ~= nil and chrome >= 51 and chrome <= 66
end

-- Everything of the cookie that is the same for all: made once for each policy.
local function attributes_of(affinity)
    local parts = { "; Path=" .. (affinity.path or "/") }
    if affinity.domain ~= nil then
        parts[#parts + 1] = "; Domain=" .. affinity.domain
    end
    if affinity.maxAgeSeconds ~= nil then
        parts[#parts + 1] = string.format("; Max-Age=%d", affinity.maxAgeSeconds)
    end
    parts[#parts + 1] = "; HttpOnly"
    return table.concat(parts)
end

-- nginx's name for the cookie, or the header, of a request.
function _M.variable(affinity)
    if affinity.variable == nil then
        affinity.variable = affinity.header and "http_" .. affinity.header:lower():gsub("-", "_")
            or "cookie_" .. affinity.cookie
    end
    return affinity.variable
end

-- The text of a Set-Cookie header. Without a word about it, a session that began with TLS stays there.
function _M.cookie(affinity, value, is_tls, agent)
    affinity.attributes = affinity.attributes or attributes_of(affinity)
    local text = affinity.cookie .. "=" .. value .. affinity.attributes
    if affinity.secure or (affinity.secure == nil and is_tls) then
        text = text .. "; Secure"
    end
    local same_site = affinity.sameSite
    if same_site == "None" and affinity.conditionalSameSiteNone and misreads_none(agent) then
        same_site = nil
    end
    return same_site and text .. "; SameSite=" .. same_site or text
end

return _M
