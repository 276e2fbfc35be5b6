-- Headers that a route sets, adds or removes: of requests, before an endpoint gets them, and of answers,
-- before the client does.
local _M = {}

local function joined(value)
    return type(value) == "table" and table.concat(value, ",") or value
end

-- The values of one header in one line, or nothing.
local function with_added(present, added)
    local before = joined(present)
    if before == nil or before == "" then
        return added
    end
    return before .. "," .. added
end

-- Of the client's request, after everything that decides by its headers.
function _M.of_request(changes)
    for _, name in ipairs(changes.remove or {}) do
        ngx.req.clear_header(name)
    end
    for _, header in ipairs(changes.set or {}) do
        ngx.req.set_header(header.name, header.value)
    end
    for _, header in ipairs(changes.add or {}) do
        local variable = "http_" .. header.name:lower():gsub("-", "_")
        ngx.req.set_header(header.name, with_added(ngx.var[variable], header.value))
    end
end

-- Of the answer, before its headers are sent.
function _M.of_answer(changes)
    for _, name in ipairs(changes.remove or {}) do
        ngx.header[name] = nil
    end
    for _, header in ipairs(changes.set or {}) do
        ngx.header[header.name] = header.value
    end
    for _, header in ipairs(changes.add or {}) do
        ngx.header[header.name] = with_added(ngx.header[header.name], header.value)
    end
end

return _M
