-- Which requests of a route go to another service, for trying it out. Each canary says yes, no, or
-- nothing, by a header, then a cookie, then its share; the first yes takes the request. The share
-- is kept over any stretch of requests: the n-th lies at a place that the golden ratio gives, which
-- spreads them evenly and follows no rhythm of the clients. Its twin is
-- src/outputs/nginx/canary-choice.ts; both pass the cases of proxy/cases/canary.json.
local pattern = require("lockstep.pattern")

local _M = {}

local GOLDEN = 0.6180339887498949
local WHOLE = 100
local CRC_VALUES = 2 ^ 32

-- Where this worker's requests stand; all workers begin elsewhere.
function _M.first_turn()
    return (ngx.worker and ngx.worker.id() or 0) * 17
end

function _M.prepare(canaries)
    for _, canary in ipairs(canaries) do
        local header = canary.header
        if header ~= nil then
            header.variable = "http_" .. header.name:lower():gsub("-", "_")
            header.compiled = header.pattern and pattern.compile(header.pattern)
        end
        canary.cookie_variable = canary.cookie and "cookie_" .. canary.cookie
        canary.turn = _M.first_turn()
    end
    return canaries
end

local function by_word(word)
    if word == "always" then
        return true
    elseif word == "never" then
        return false
    end
    return nil
end

local function by_header(header, value)
    if value == nil then
        return nil
    elseif header.value ~= nil then
        return value == header.value or nil
    elseif header.compiled ~= nil then
        return pattern.matches(header.compiled, value) or nil
    end
    return by_word(value)
end

-- A session has a place of its own, so that it stays on its side while the share stays.
local function by_share(canary, session)
    local weight = canary.weight or 0
    if weight == 0 then
        return false
    end
    local place
    if session ~= nil then
        place = ngx.crc32_long(session) / CRC_VALUES
    else
        place = (canary.turn * GOLDEN) % 1
        canary.turn = canary.turn + 1
    end
    return place * (canary.weightTotal or WHOLE) < weight
end

-- Whether a request is in the share of it; all are in one that says nothing.
function _M.takes_share(one)
    return one.weight == nil or by_share(one, nil)
end

-- Whether a canary with this service has taken the session by other means than its share, which
-- would leave it.
function _M.is_forced(canaries, service, session)
    for index = 1, #canaries do
        if canaries[index].service == service then
            return not by_share(canaries[index], session)
        end
    end
    return false
end

local function wants(canary, var, session, belongs_to)
    local decided = nil
    if canary.header ~= nil then
        decided = by_header(canary.header, var[canary.header.variable])
    end
    if decided == nil and canary.cookie_variable ~= nil then
        decided = by_word(var[canary.cookie_variable])
    end
    if decided == nil and belongs_to ~= nil then
        decided = belongs_to == canary.service
    end
    if decided == nil then
        decided = by_share(canary, session)
    end
    return decided
end

-- The first canary that wants the request, or nothing. One that cannot answer gets
-- none: `can_answer` is asked about its service. `var` has the request's variables by nginx's
-- names; `session` is what its cookie says where the route keeps sessions, and `belongs_to` the
-- service whose endpoint that names; nothing elsewhere.
function _M.choose(canaries, var, can_answer, session, belongs_to)
    for index = 1, #canaries do
        local canary = canaries[index]
        if wants(canary, var, session, belongs_to) and can_answer(canary.service) then
            return canary
        end
    end
    return nil
end

return _M
