-- External authentication: a service receives the head of each request and answers 2xx, 401 or 403.
-- With any other answer the request is refused. The route names the service, or a host and path of
-- our own routes, which keep their policy: a client that may not use a route cannot have it asked
-- either.
local answer = require("lockstep.answer")
local auth_request = require("lockstep.auth_request")
local cors = require("lockstep.cors")
local forwarded_path = require("lockstep.forwarded_path")
local request_text = require("lockstep.request_text")
local route = require("lockstep.route")
local template = require("lockstep.template")

local _M = {}

local UNDECIDED = "undecided"

-- Marks these requests. A marked request that would need another check is refused: two services
-- might ask each other for ever.
local MARK = "X-Lockstep-Auth"

-- Variables that an address may contain, with the names of ingress-nginx.
local values = {
    host = function(var) return var.host end,
    http_host = function(var) return var.lockstep_host end,
    best_http_host = function(var) return var.lockstep_host end,
    scheme = function(var) return var.lockstep_forwarded_proto end,
    pass_access_scheme = function(var) return var.lockstep_forwarded_proto end,
    request_uri = function(var) return var.request_uri end,
    escaped_request_uri = function(var) return ngx.escape_uri(var.request_uri) end,
}

local function parse(text)
    return template.parse(text, function(name)
        return values[name]
    end)
end

local function fill(parts, var)
    local filled = template.fill(parts, function(value_of)
        return value_of(var)
    end)
    if filled == nil then
        return answer.refuse(400, template.TOO_LONG)
    end
    return filled
end

-- Policies of a route that apply to its clients and cannot apply when it is asked.
local unasked = {
    "closed", "redirect", "hostRedirect", "appRoot", "rewrite", "basicAuth", "externalAuth",
    "verifyUpstream",
}

local function can_be_asked(policy)
    for _, field in ipairs(unasked) do
        if policy[field] then
            return false
        end
    end
    local protocol = policy.protocol or "http"
    return protocol == "http" or protocol == "https"
end

-- The path of an address as rules are matched against it; nothing where it could mean another.
local function plain_path(address)
    local path = address:gsub("%?.*$", "")
    local decoded = path:gsub("%%(%x%x)", function(digits)
        return string.char(tonumber(digits, 16))
    end)
    if forwarded_path.is_ambiguous(path) or decoded:find("[\\;%%%z]") then
        return nil
    end
    return decoded
end

local function find_rule(state, host, path)
    local rule = route.find(state.host, host, path)
    if rule == state.UNDECODED then
        state.learn_host(host)
        rule = route.find(state.host, host, path)
    end
    return rule
end

-- The rule that a host and path of our own lead to, if it is of a namespace that may be asked.
local function rule_behind(state, host, address, namespaces)
    local path = plain_path(address)
    local rule = path and find_rule(state, host, path)
    if rule and (namespaces["*"] or namespaces[route.namespace_of(rule)]) then
        return rule
    end
    return nil
end

-- Its service, whether that speaks TLS, and the Host header, if the client may use the route.
local function service_behind(state, rule, var)
    local policy = rule.policy
    if policy == nil then
        return state.service(rule.service)
    end
    if not can_be_asked(policy) then
        return nil
    end
    for _, step in ipairs(policy.prepared.client_steps) do
        step(var)
    end
    return state.service(rule.service), policy.protocol == "https", policy.upstreamHost
end

-- A value that would end a line cannot be sent to the authentication service.
local function check_line(text)
    if request_text.ends_line(text) then
        return answer.refuse(400, "control character")
    end
end

local function add(lines, name, value)
    if value ~= nil and value ~= "" then
        check_line(value)
        lines[#lines + 1] = name .. ": " .. value
    end
end

local function text_of(asked, var, host, path)
    check_line(host .. path)
    local lines = { (asked.method or "GET") .. " " .. path .. " HTTP/1.1" }
    add(lines, "Host", host)
    add(lines, "Connection", "close")
    add(lines, "X-Request-ID", var.lockstep_request_id)
    add(lines, "X-Real-IP", var.remote_addr)
    add(lines, "X-Forwarded-For", var.lockstep_forwarded_for)
    add(lines, "X-Forwarded-Host", var.lockstep_host)
    add(lines, "X-Forwarded-Proto", var.lockstep_forwarded_proto)
    add(lines, "X-Forwarded-Uri", var.request_uri)
    local original = var.lockstep_forwarded_proto .. "://" .. var.lockstep_host .. var.request_uri
    add(lines, "X-Original-URL", original)
    add(lines, "X-Original-URI", var.request_uri)
    add(lines, "X-Original-Method", var.request_method)
    add(lines, "X-Scheme", var.lockstep_forwarded_proto)
    add(lines, MARK, "1")
    add(lines, "X-Auth-Request-Redirect", asked.requestRedirect or var.request_uri)
    request_text.add_headers(lines, add)
    return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

-- Cookies of the auth service, for the client; pick.lua adds its own to them.
local function keep_cookies(headers)
    local cookies = headers["set-cookie"]
    if #cookies > 0 then
        ngx.header["Set-Cookie"] = cookies
    end
end

local function pass(asked, headers)
    keep_cookies(headers)
    for _, name in ipairs(asked.responseHeaders or {}) do
        local value = headers[name:lower()]
        -- A value from the client itself is not trusted.
        if value == nil or value == "" then
            ngx.req.clear_header(name)
        else
            ngx.req.set_header(name, value)
        end
    end
end

local function refuse(status, policy, sign_in, var, headers)
    local allowed_pages = policy.prepared.cors
    local allowed = allowed_pages and cors.allowed(allowed_pages, var.http_origin)
    if allowed then
        cors.set_headers(allowed_pages, allowed)
    end
    keep_cookies(headers)
    if status == 401 and sign_in ~= nil then
        return answer.redirect(302, fill(sign_in, var))
    end
    if status == 401 then
        ngx.header["WWW-Authenticate"] = headers["www-authenticate"]
        return answer.refuse(401, "sign-in required")
    end
    return answer.refuse(403, "not permitted")
end

local function set_of(list)
    local set = {}
    for _, one in ipairs(list or {}) do
        set[one] = true
    end
    return set
end

function _M.step(policy, state)
    local asked = policy.externalAuth
    local host_parts, path_parts = parse(asked.host), parse(asked.path)
    local sign_in = asked.signIn and parse(asked.signIn)
    local namespaces = set_of(asked.namespaces)
    return function(var)
        if var.http_x_lockstep_auth ~= nil then
            return answer.refuse(503, "auth loop")
        end
        local host, path = fill(host_parts, var), fill(path_parts, var)
        local service, is_tls, sent_host = nil, asked.tls, nil
        if asked.service ~= nil then
            service = state.service(asked.service)
        else
            local name = string.lower((host:gsub(":%d+$", "")))
            local rule = rule_behind(state, name, path, namespaces)
            if rule ~= nil then
                service, is_tls, sent_host = service_behind(state, rule, var)
            end
        end
        if service == nil or service.peers.count == 0 then
            return answer.refuse(503, UNDECIDED)
        end
        host = sent_host or host
        local tls_name = is_tls and (host:gsub(":%d+$", "")) or nil
        local status, headers = auth_request.ask(service, text_of(asked, var, host, path), tls_name)
        if status ~= nil and status >= 200 and status < 300 then
            return pass(asked, headers)
        end
        if status == 401 or status == 403 then
            return refuse(status, policy, sign_in, var, headers)
        end
        return answer.refuse(503, UNDECIDED)
    end
end

return _M
