-- The path an endpoint sees instead of the one that was asked for. Groups of a Regex rule's path
-- can be used by number or by name. For every match, the result is one path that begins with
-- one slash, has no dot segments and is of some length; nginx encodes it again when it sends it.
local forwarded_path = require("lockstep.forwarded_path")
local pattern = require("lockstep.pattern")
local template = require("lockstep.template")

local _M = {}

-- Names of groups in a regular expression: (?<name>…) and (?P<name>…).
local function group_names(path)
    local names = {}
    for name in path:gmatch("%(%?P?<([%a_][%w_]*)>") do
        names[name] = true
    end
    return names
end

-- A fixed path in place of all of the client's, or of the part that the rule's Prefix matched.
function _M.replacement(rule, asked)
    if asked.full ~= nil then
        return { full = asked.full }
    end
    local matched = rule.path == "/" and 0 or #rule.path
    return { prefix = (asked.prefix:gsub("/+$", "")), matched = matched }
end

-- "/a?b=c" → the parts of "/a" and of "b=c"; the latter is nothing when there is no question mark.
function _M.prepare(rule)
    if rule.policy.pathRewrite ~= nil then
        return _M.replacement(rule, rule.policy.pathRewrite)
    end
    local text = rule.policy.rewrite
    local names = rule.type == "Regex" and group_names(rule.path) or {}
    local function key_of(name)
        if rule.type ~= "Regex" then
            return nil
        end
        return tonumber(name) or (names[name] and name) or nil
    end
    local path, query = text:match("^([^?]*)%?(.*)$")
    return {
        pattern = rule.pattern,
        path = template.parse(path or text, key_of),
        query = query and template.parse(query, key_of),
    }
end

-- One slash at the start and never two in a row; nothing when an element is "." or "..", or would be
-- to programs that leave out what follows a semicolon or take a backslash for a slash.
local function one_path(text)
    local path = "/" .. text
    if path:find("//", 1, true) then
        path = path:gsub("/+", "/")
    end
    if forwarded_path.has_dot_segment(forwarded_path.with_slashes(path)) then
        return nil
    end
    return path
end

-- As nginx's rewrite: what is rewritten comes first, and nothing after the question mark leaves out
-- the client's query.
local function queries(own, client)
    if own == "" or client == nil or client == "" then
        return own
    end
    return own .. "&" .. client
end

-- With a slash where the rest of the path begins, and never nothing.
function _M.replaced(replacement, path)
    if replacement.full ~= nil then
        return replacement.full
    end
    local rest = string.sub(path, replacement.matched + 1)
    if rest ~= "" and string.sub(rest, 1, 1) ~= "/" then
        rest = "/" .. rest
    end
    local text = replacement.prefix .. rest
    return text == "" and "/" or text
end

-- As part of an address.
function _M.encoded(path)
    return (path:gsub("[^%w%-._~/!$&'()*+,;=:@]", function(byte)
        return string.format("%%%02X", string.byte(byte))
    end))
end

-- The path, and the query when it changes; or nothing, and what is wrong with them.
function _M.apply(rewrite, path, client_query)
    if rewrite.full ~= nil or rewrite.prefix ~= nil then
        local replaced = one_path(_M.replaced(rewrite, path))
        return replaced, replaced == nil and "rewritten to a dot segment" or nil
    end
    local captures = rewrite.pattern and pattern.captures(rewrite.pattern, path) or {}
    local filled = template.fill(rewrite.path, function(key)
        return captures[key] or ""
    end)
    local new_path = filled and one_path(filled)
    if new_path == nil then
        return nil, filled and "rewritten to a dot segment" or template.TOO_LONG
    end
    if rewrite.query == nil then
        return new_path
    end
    local own = template.fill(rewrite.query, function(key)
        return ngx.escape_uri(captures[key] or "")
    end)
    if own == nil then
        return nil, template.TOO_LONG
    end
    return new_path, queries(own, client_query)
end

return _M
