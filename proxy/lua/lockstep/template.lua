-- Texts with places to be filled: "/$1/x", "${name}". A text is taken apart once, when its rule is
-- decoded. Other marks are text.
local _M = {}

-- Several times what a client can ask for: a text with many places must not make megabytes of it.
local MOST_BYTES = 64 * 1024

_M.TOO_LONG = "filled in too long"

-- The next "$name" or "${name}" from a position on: its first and last position and the name.
local function next_place(text, from)
    while true do
        local dollar = string.find(text, "$", from, true)
        if dollar == nil then
            return nil
        end
        local rest = string.sub(text, dollar + 1)
        local name = rest:match("^%d") or rest:match("^[%a_][%w_]*")
        if name ~= nil then
            return dollar, dollar + #name, name
        end
        name = rest:match("^{(%d)}") or rest:match("^{([%a_][%w_]*)}")
        if name ~= nil then
            return dollar, dollar + #name + 2, name
        end
        from = dollar + 1
    end
end

-- Parts in their order: texts, and tables with the key of a place. `key_of` gives the key of a
-- name, or nothing when there is no such place.
function _M.parse(text, key_of)
    local parts, from = {}, 1
    local text_from = 1
    while true do
        local first, last, name = next_place(text, from)
        if first == nil then
            parts[#parts + 1] = string.sub(text, text_from)
            return parts
        end
        local key = key_of(name)
        if key ~= nil then
            parts[#parts + 1] = string.sub(text, text_from, first - 1)
            parts[#parts + 1] = { key = key }
            text_from = last + 1
        end
        from = last + 1
    end
end

-- `value_of` gives what stands in a place. Nothing when that is too long in all.
function _M.fill(parts, value_of)
    local filled, bytes = {}, 0
    for index, part in ipairs(parts) do
        filled[index] = type(part) == "string" and part or value_of(part.key)
        bytes = bytes + #filled[index]
        if bytes > MOST_BYTES then
            return nil
        end
    end
    return table.concat(filled)
end

return _M
