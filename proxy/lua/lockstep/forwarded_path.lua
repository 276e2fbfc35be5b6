-- Which form of the path an endpoint sees: the one that was matched. Rules are matched against the
-- decoded path without dot segments and repeated slashes. A target that has those could mean another
-- path to the endpoint than to us, and lead past the rule that protects it; so it is sent as it was
-- matched, encoded again. All other targets mean the same to both and are sent as they came: many
-- programs tell "%2F" from a slash. Some programs take a backslash, plain or encoded, for a slash: a
-- path that has a dot segment then is refused, and admission.lua refuses one that leads elsewhere.
local answer = require("lockstep.answer")
local pattern = require("lockstep.pattern")

local _M = {}

-- As programs read a path that take a backslash for a slash.
function _M.with_slashes(path)
    return (path:gsub("\\", "/"))
end

-- Whether an element of a decoded path is "." or "..", also for programs that leave out what follows
-- a semicolon.
function _M.has_dot_segment(path)
    return path:find("/.", 1, true) ~= nil and (path .. "/"):find("/%.%.?[/;]") ~= nil
end

local QUESTION = string.byte("?")

-- In the path of a target, written plainly or encoded: a dot segment, two slashes, a backslash; a
-- fragment, which no client should send.
local ambiguous = pattern.compile_own(
    [[(?i)^[^?]*?(?:(?:/|%2f)(?:(?:\.|%2e){1,2}(?:[/?;#]|%2f|%3b|$)|/|%2f)|\\|#)]]
)
-- "/..;x/" is a dot segment to some programs and a name to others.
local parameter = pattern.compile_own([[(?i)^[^?]*?(?:/|%2f)(?:\.|%2e){1,2}(?:;|%3b)]])

-- Whether the path of a target could mean several things.
function _M.is_ambiguous(target)
    return pattern.matches(ambiguous, target) ~= false
end

-- A path that is its own target, or all of it before the query, and has nothing of the above.
local function is_plain(target, path)
    if target ~= path then
        local next_byte = string.byte(target, #path + 1)
        if next_byte ~= QUESTION or string.find(target, path, 1, true) ~= 1 then
            return false
        end
    end
    return string.find(path, "\\", 1, true) == nil and string.find(path, "/.", 1, true) == nil
end

-- `target` as the client sent it, `path` as it was matched.
function _M.settle(target, path)
    if is_plain(target, path) then
        return
    end
    if _M.has_dot_segment(_M.with_slashes(path)) then
        return answer.refuse(400, "dot segment with a backslash")
    end
    if not _M.is_ambiguous(target) then
        return
    end
    if pattern.matches(parameter, target) ~= false then
        return answer.refuse(400, "dot segment with a parameter")
    end
    ngx.req.set_uri(path, false, true)
end

return _M
