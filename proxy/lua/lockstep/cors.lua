-- Which pages of other origins may use a route from a browser. A preflight is answered here; every
-- other answer of the endpoint gets our headers in place of its own, or the browser would see two.
local _M = {}

-- The meaning of an asterisk: one label, or any number of them.
local ONE_LABEL, LABELS = "^[%w-]+$", "^[%w.-]+$"

local function wildcard_of(origin, form)
    local before, after = origin:match("^([^*]*)%*([^*]*)$")
    return { before = before, after = after, form = form }
end

-- Browsers leave out the usual port of a scheme.
local function without_usual_port(origin)
    return (origin:gsub("^(http://.*):80$", "%1"):gsub("^(https://.*):443$", "%1"))
end

-- The items in one line; nothing where there are none.
local function line_of(items)
    return #items > 0 and table.concat(items, ", ") or nil
end

local function has_any(items)
    for _, item in ipairs(items) do
        if item == "*" then
            return true
        end
    end
    return false
end

-- A browser takes no asterisk where credentials are allowed: what the request names is allowed instead,
-- and nothing stands for all headers of an answer.
local function prepare_echo(prepared, cors)
    prepared.echoes_origin = true
    local headers = prepared.headers
    if has_any(cors.allowMethods) then
        headers["Access-Control-Allow-Methods"] = nil
        prepared.echoes_method = true
    end
    if has_any(cors.allowHeaders) then
        headers["Access-Control-Allow-Headers"] = nil
        prepared.echoes_headers = true
    end
    if has_any(cors.exposeHeaders) then
        headers["Access-Control-Expose-Headers"] = nil
    end
end

function _M.prepare(cors)
    local is_gateway = cors.dialect == "gateway"
    local prepared = { exact = {}, wildcards = {}, any = false, answers_all = is_gateway }
    local form = is_gateway and LABELS or ONE_LABEL
    for _, origin in ipairs(cors.allowOrigins) do
        origin = without_usual_port(origin:lower())
        if origin == "*" then
            prepared.any = true
        elseif origin:find("*", 1, true) then
            table.insert(prepared.wildcards, wildcard_of(origin, form))
        else
            prepared.exact[origin] = true
        end
    end
    prepared.headers = {
        ["Access-Control-Allow-Credentials"] = cors.allowCredentials and "true" or nil,
        ["Access-Control-Allow-Methods"] = line_of(cors.allowMethods),
        ["Access-Control-Allow-Headers"] = line_of(cors.allowHeaders),
        ["Access-Control-Expose-Headers"] = line_of(cors.exposeHeaders),
        ["Access-Control-Max-Age"] = tostring(cors.maxAgeSeconds),
    }
    if is_gateway and cors.allowCredentials then
        prepare_echo(prepared, cors)
    end
    return prepared
end

local function fits(wildcard, origin)
    local before, after = wildcard.before, wildcard.after
    if #origin <= #before + #after or origin:sub(1, #before) ~= before then
        return false
    end
    if after ~= "" and origin:sub(-#after) ~= after then
        return false
    end
    return origin:sub(#before + 1, #origin - #after):find(wildcard.form) ~= nil
end

-- The value of Access-Control-Allow-Origin for this origin; nil when it is not allowed.
function _M.allowed(cors, origin)
    if cors.any and not cors.echoes_origin then
        return "*"
    end
    if origin == nil then
        return nil
    end
    local lower = without_usual_port(origin:lower())
    if cors.any or cors.exact[lower] then
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
    if cors.echoes_method then
        ngx.header["Access-Control-Allow-Methods"] = ngx.var.http_access_control_request_method
    end
    if cors.echoes_headers then
        ngx.header["Access-Control-Allow-Headers"] = ngx.var.http_access_control_request_headers
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
