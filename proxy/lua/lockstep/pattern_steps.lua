-- Makes the steps of a regular expression countable. PCRE's machine code counts the repetitions that
-- it has finished, but neither those that fail nor the turns of a group: "(.*x|.*y|a)*b" takes
-- seconds for a long path without one step. So every group and every alternative is made to begin
-- with a step, a repetition that is finished at once: of a character that no path and no header has.
local _M = {}

local STEP = "\\x00?+"

-- Where the class that begins here ends: "[]a]", "[^\\]]", "[[:alpha:]]".
local function class_end(text, first)
    local _, last = text:find("^%[%^?%]?", first)
    while last < #text do
        local from = last + 1
        local _, item = text:find("^%[:%^?%a+:%]", from)
        if item == nil then
            _, item = text:find("^\\.", from)
        end
        if item == nil and text:sub(from, from) == "]" then
            return from
        end
        last = item or from
    end
    return #text
end

-- Where the sign that begins an alternative or a group ends, if there is one here. "(?i)" is neither.
local function sign_end(text, at)
    if text:find("^|", at) or text:find("^%([^?*]", at) then
        return at
    end
    local _, last = text:find("^%(%?P?<[%a_][%w_]*>", at)
    if last == nil then
        _, last = text:find("^%(%?[%a-]*:", at)
    end
    return last
end

-- The same expression with its steps.
function _M.added(text)
    local pieces, at = {}, 1
    while at <= #text do
        local sign, last = sign_end(text, at), at
        if text:find("^\\", at) then
            last = at + 1
        elseif text:find("^%[", at) then
            last = class_end(text, at)
        end
        pieces[#pieces + 1] = text:sub(at, sign or last) .. (sign and STEP or "")
        at = (sign or last) + 1
    end
    return table.concat(pieces)
end

return _M
