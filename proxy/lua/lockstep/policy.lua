-- The policy of a route: everything except the target of its requests. A decoded policy is a list
-- of steps in the order below. A request passes through them, and the first step that answers ends
-- it. Unused features cost nothing. Many rules share a policy and its steps, so its size counts
-- once.
local answer = require("lockstep.answer")
local basic_auth = require("lockstep.basic_auth")
local canary = require("lockstep.canary")
local changed_headers = require("lockstep.changed_headers")
local cors = require("lockstep.cors")
local external_auth = require("lockstep.external_auth")
local limit = require("lockstep.limit")
local mirror = require("lockstep.mirror")
local networks = require("lockstep.networks")
local rewrite = require("lockstep.rewrite")
local template = require("lockstep.template")
local upstream = require("lockstep.upstream")

local _M = {}

-- Variables that the location of a redirect may contain.
local places = { request_uri = true, host = true, scheme = true }

local function closed()
    return function()
        return answer.refuse(503, "route closed")
    end
end

local function refuse(policy)
    local status = policy.refuse
    return function()
        return answer.refuse(status, status == 404 and "no route" or "not a valid route")
    end
end

local function https_redirect(policy)
    local status = policy.httpsRedirect
    return function(var)
        if var.lockstep_forwarded_proto ~= "https" then
            local port = var.lockstep_https_port
            local host = var.lockstep_public_host .. (port == "" and "" or ":" .. port)
            return answer.redirect(status, "https://" .. host .. var.request_uri)
        end
    end
end

-- Made once, however many rules share the list.
local function set_of(list)
    list.set = list.set or networks.set(list)
    return list.set
end

local function deny_from(policy)
    local set = set_of(policy.denyFrom)
    return function(var)
        if networks.contains(set, var.binary_remote_addr) then
            return answer.refuse(403, "address not allowed")
        end
    end
end

local function allow_from(policy)
    local set = set_of(policy.allowFrom)
    return function(var)
        if not networks.contains(set, var.binary_remote_addr) then
            return answer.refuse(403, "address not allowed")
        end
    end
end

local function rate_limit(policy, rule, host)
    local name = rule.type .. " " .. host .. " " .. rule.path
    local prepared = limit.prepare(name, policy.rateLimit)
    local except_from = policy.rateLimit.exceptFrom
    local except = except_from and set_of(except_from)
    return function(var)
        if except and networks.contains(except, var.binary_remote_addr) then
            return
        end
        if not limit.allows(prepared, var.binary_remote_addr) then
            ngx.header["Retry-After"] = "1"
            return answer.refuse(429, "rate limit")
        end
    end
end

local function preflight(policy)
    local prepared = policy.prepared.cors
    return function(var)
        if var.http_origin ~= nil and ngx.req.get_method() == "OPTIONS" then
            local allowed = cors.allowed(prepared, var.http_origin)
            if prepared.answers_all and var.http_access_control_request_method == nil then
                return
            end
            if allowed then
                cors.set_headers(prepared, allowed)
            end
            if allowed or prepared.answers_all then
                return answer.no_content("preflight")
            end
        end
    end
end

local function redirect(policy)
    local parts = template.parse(policy.redirect.location, function(name)
        return places[name] and name or nil
    end)
    local status = policy.redirect.status
    return function(var)
        local location = template.fill(parts, function(key)
            return var[key]
        end)
        if location == nil then
            return answer.refuse(400, template.TOO_LONG)
        end
        -- The start of the client's path must never become a host name.
        return answer.redirect(status, (location:gsub("^[/\\]+", "/")))
    end
end

-- The port is the one by which the client came, as its Host header says.
local function host_redirect(policy)
    local target = policy.hostRedirect
    return function(var)
        local port = string.match(var.http_host or "", ":%d%d?%d?%d?%d?$") or ""
        local place = var.lockstep_forwarded_proto .. "://" .. target.host .. port
        return answer.redirect(target.status, place .. var.request_uri)
    end
end

local usual_ports = { http = 80, https = 443 }

-- Where the route names neither port nor scheme it is the port by which the client came, as its Host header
-- says: a load balancer may have come in by another one.
local function port_text(target, scheme, var)
    if target.port ~= nil then
        return target.port == usual_ports[scheme] and "" or ":" .. target.port
    end
    if target.scheme ~= nil then
        return ""
    end
    local port = tonumber(string.match(var.http_host or "", ":(%d%d?%d?%d?%d?)$"))
    return (port == nil or port == usual_ports[scheme]) and "" or ":" .. port
end

-- To parts of an address; all others are as the client wrote them.
local function part_redirect(policy, rule)
    local target = policy.partRedirect
    local replacement = target.path and rewrite.replacement(rule, target.path)
    local changes = policy.responseHeaders
    return function(var, path)
        local scheme = target.scheme or var.lockstep_forwarded_proto
        local host = target.host or var.lockstep_public_host
        local place = scheme .. "://" .. host .. port_text(target, scheme, var)
        cors.filter(policy)
        if changes ~= nil then
            changed_headers.of_answer(changes)
        end
        if replacement == nil then
            return answer.redirect(target.status, place .. var.request_uri)
        end
        local query = var.args and "?" .. var.args or ""
        local new_path = rewrite.encoded(rewrite.replaced(replacement, path))
        return answer.redirect(target.status, place .. new_path .. query)
    end
end

local function app_root(policy)
    local location = policy.appRoot
    return function(_, path)
        if path == "/" then
            return answer.redirect(302, location)
        end
    end
end

-- state.lua needs this file itself, and is there by the time a rule is decoded.
local function password(policy)
    return basic_auth.step(policy, require("lockstep.state").users_of)
end

local function permission(policy)
    return external_auth.step(policy, require("lockstep.state"))
end

-- In the order of the checks: a client that may not pass learns and changes nothing. A CORS
-- preflight request has no credentials, and learns nothing else. Checks of clients also apply when
-- the route is asked whether a request may pass.
local kinds = {
    { field = "closed", step = closed },
    { field = "refuse", step = refuse },
    { field = "httpsRedirect", step = https_redirect },
    { field = "denyFrom", step = deny_from, is_of_clients = true },
    { field = "allowFrom", step = allow_from, is_of_clients = true },
    { field = "rateLimit", step = rate_limit, is_of_clients = true },
    { field = "cors", step = preflight },
    { field = "basicAuth", step = password },
    { field = "externalAuth", step = permission },
    { field = "redirect", step = redirect },
    { field = "hostRedirect", step = host_redirect },
    { field = "partRedirect", step = part_redirect },
    { field = "appRoot", step = app_root },
}

-- Whether some service of the rule has its own changes of answers.
local function has_own_answers(policy)
    if policy.ownHeaders ~= nil and policy.ownHeaders.responseHeaders ~= nil then
        return true
    end
    for _, one in ipairs(policy.canaries or {}) do
        if one.responseHeaders ~= nil then
            return true
        end
    end
    return false
end

-- The locations of retries.conf have these numbers.
local retry_bits = { [500] = 1, [502] = 2, [503] = 4, [504] = 8 }

local function retry_class(codes)
    local bits = {}
    for _, code in ipairs(codes) do
        bits[code] = retry_bits[code]
    end
    local number = 0
    for _, one in pairs(bits) do
        number = number + one
    end
    return number > 0 and "http_retry_" .. number or nil
end

local function class_of_http(policy)
    local retrying = policy.retryOn and retry_class(policy.retryOn)
    if retrying then
        return retrying
    end
    if policy.streamBodies then
        return "http_streamed"
    end
    if policy.largeHeaders or policy.forwardedPrefix then
        return "http_special"
    end
    local changes_answer = policy.cors or policy.responseHeaders or policy.deadlineMs
    changes_answer = changes_answer or has_own_answers(policy)
    return changes_answer and "http_any" or "http"
end

local function cors_of(policy)
    local asked = policy.cors
    if asked ~= nil then
        asked.prepared = asked.prepared or cors.prepare(asked)
    end
    return asked and asked.prepared
end

local function with(fields, name, value)
    local copy = {}
    for field, known in pairs(fields) do
        copy[field] = known
    end
    copy[name] = value
    return copy
end

-- Whether something made of the policy depends on the rule, or counts for it alone.
local function is_own(policy, rule)
    return rule.canaries ~= nil or rule.isCookiePath or policy.rateLimit ~= nil or policy.rewrite ~= nil
        or policy.pathRewrite ~= nil or policy.partRedirect ~= nil
end

-- The policy with what is the rule's own; lists and all else stay shared.
local function own_policy(policy, rule)
    local own = with(policy, "canaries", rule.canaries)
    own.prepared = nil
    if rule.isCookiePath and own.balance and own.balance.affinity then
        local affinity = with(own.balance.affinity, "path", rule.path)
        affinity.attributes = nil
        own.balance = with(own.balance, "affinity", affinity)
    end
    return own
end

-- The class is the location that serves it.
local function prepare(policy, rule, host)
    local class = upstream.class_of(policy)
    if class == "http" then
        class = class_of_http(policy)
    end
    policy.prepared = {
        class = class,
        -- A stream has no end to be counted towards.
        streams = policy.protocol == "grpc" or policy.protocol == "grpcs",
        cors = cors_of(policy),
        canaries = policy.canaries and canary.prepare(policy.canaries),
        rewrite = (policy.rewrite or policy.pathRewrite) and rewrite.prepare(rule),
        steps = {},
        client_steps = {},
    }
    if policy.mirrors ~= nil then
        mirror.prepare(policy.mirrors)
    end
    local steps, client_steps = policy.prepared.steps, policy.prepared.client_steps
    for _, kind in ipairs(kinds) do
        if policy[kind.field] ~= nil then
            steps[#steps + 1] = kind.step(policy, rule, host)
            client_steps[#client_steps + 1] = kind.is_of_clients and steps[#steps] or nil
        end
    end
end

-- `rule.policy`, as it was pushed, gets `prepared`: what the phases of a request need of it.
function _M.prepare(rule, host)
    if is_own(rule.policy, rule) then
        rule.policy = own_policy(rule.policy, rule)
    end
    if rule.policy.prepared == nil then
        prepare(rule.policy, rule, host)
    end
end

-- In place of a policy that is not there.
_M.CLOSED = { closed = true }

-- A rule that answers every request with 503.
function _M.closed_rule()
    local rule = { type = "Prefix", path = "/", service = "", policy = _M.CLOSED }
    _M.prepare(rule, "")
    return rule
end

-- Ends a request that the policy answers itself.
function _M.admit(prepared, var, path)
    local steps = prepared.steps
    for index = 1, #steps do
        steps[index](var, path)
    end
end

-- Changes the path for the endpoint.
function _M.rewrite(prepared, var, path)
    local new_path, new_query = rewrite.apply(prepared.rewrite, path, var.args)
    if new_path == nil then
        return answer.refuse(400, new_query)
    end
    if new_query ~= nil then
        ngx.req.set_uri_args(new_query)
    end
    ngx.req.set_uri(new_path, false, true)
end

return _M
