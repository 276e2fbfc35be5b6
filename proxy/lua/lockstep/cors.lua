-- Which pages of other origins may use a route from a browser. A preflight is answered here; every
-- other answer of the endpoint gets our headers in place of its own, or the browser would see two.
local _M = {}

local function wildcard_of(origin)
    local before, after = origin:match("^([^*]*)%*([^*]*)$")
    return { before = before, after = after }
end

function _M.prepare(cors)
    local prepared = { exact = {}, wildcards = {}, any = false }
    for _, origin in ipairs(cors.allowOrigins) do
        origin = origin:lower()
        if origin == "*" then
            prepared.any = true
        elseif origin:find("*", 1, true) then
            table.insert(prepared.wildcards, wildcard_of(origin))
        else
            prepared.exact[origin] = true
        end
    end
    prepared.headers = {
        ["Access-Control-Allow-Credentials"] = cors.allowCredentials and "true" or nil,
        ["Access-Control-Allow-Methods"] = table.concat(cors.allowMethods, ", "),
        ["Access-Control-Allow-Headers"] = table.concat(cors.allowHeaders, ", "),
        ["Access-Control-Expose-Headers"] = #cors.exposeHeaders > 0
            and table.concat(cors.exposeHeaders, ", ") or nil,
        ["Access-Control-Max-Age"] = tostring(cors.maxAgeSeconds),
    }
    return prepared
end

-- The asterisk stands for one label.
local function fits(wildcard, origin)
    local before, after = wildcard.before, wildcard.after
    if #origin <= #before + #after or origin:sub(1, #before) ~= before then
        return false
    end
    if after ~= "" and origin:sub(-#after) ~= after then
        return false
    end
    return origin:sub(#before + 1, #origin - #after):find("^[%w-]+$") ~= nil
end

-- The value of Access-Control-Allow-Origin for this origin; nil when it is not allowed.
function _M.allowed(cors, origin)
    if cors.any then
        return "*"
    end
    if origin == nil then
        return nil
    end
    local lower = origin:lower()
    if cors.exact[lower] then
        return origin
    end
    for _, wildcard in ipairs(cors.wildcards) do
        if fits(wildcard, lower) then
            return origin
        end
    end
    return nil
end

-- The answer depends on who asked, which caches must know.
local function add_vary()
    local vary = ngx.header["Vary"]
    if vary == nil then
        ngx.header["Vary"] = "Origin"
    else
        local all = type(vary) == "table" and table.concat(vary, ", ") or vary
        ngx.header["Vary"] = all .. ", Origin"
    end
end

function _M.set_headers(cors, allowed)
    ngx.header["Access-Control-Allow-Origin"] = allowed
    for name, value in pairs(cors.headers) do
        ngx.header[name] = value
    end
    if allowed ~= "*" then
        add_vary()
    end
end

-- Before the answer's headers are sent.
function _M.filter(policy)
    local cors = policy and policy.prepared.cors
    local allowed = cors and _M.allowed(cors, ngx.var.http_origin)
    if allowed then
        _M.set_headers(cors, allowed)
    end
end

return _M
