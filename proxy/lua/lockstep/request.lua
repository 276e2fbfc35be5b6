-- The life of one request: the access phase decides whether and where, the balancer names the
-- endpoint and, after a failure, another one (peers.lua), the log phase notes how it went.
local access_log = require("lockstep.access_log")
local admission = require("lockstep.admission")
local answer = require("lockstep.answer")
local changed_headers = require("lockstep.changed_headers")
local contexts = require("lockstep.context")
local cors = require("lockstep.cors")
local mirror = require("lockstep.mirror")
local peers = require("lockstep.peers")
local state = require("lockstep.state")
local upstream = require("lockstep.upstream")

local _M = {}

-- The service, its endpoints, the policy, if there is one, and the changes of headers for it. Does not return when the request is
-- answered, or goes over to another location.
local function admit(here, var)
    local name, policy, rule, headers = admission.admit(here, var)
    if name == nil then
        state.learn_host(var.host)
        return admit(here, var)
    end
    if policy ~= nil and policy.mirrors ~= nil then
        mirror.copy(policy, var)
    end
    local service, list = state.known_service(name, rule)
    if service == nil then
        service, list = state.learn_service(name)
    end
    if service == nil or list.count == 0 then
        var.lockstep_service = name
        return answer.refuse(503, "no endpoints")
    end
    if rule ~= nil then
        state.lead_straight(var.host, rule, service)
    end
    return service, list, policy, headers
end

-- `here` is the location's own class (see upstream.lua).
function _M.access(here)
    local var = ngx.var
    local policy, headers = nil, nil
    local service, list = admission.admit_straight(here, var)
    if service == nil then
        service, list, policy, headers = admit(here, var)
    end
    local context = peers.choose(service, list, policy)
    context.headers = headers or false
    ngx.ctx = context
    var.lockstep_upstream = upstream.url(context, policy, context.slot)
end

function _M.balance()
    return peers.balance(ngx.ctx)
end

-- Before the headers of an endpoint's answer are sent, where a route may change them.
function _M.filter_headers()
    local context = ngx.ctx
    local policy = context.policy
    if not policy then
        return
    end
    -- After a try the balancer can give up with 500 alone, whatever it exits with.
    if context.is_late then
        ngx.status = 504
    end
    cors.filter(policy)
    local headers = context.headers
    if headers and headers.responseHeaders ~= nil then
        changed_headers.of_answer(headers.responseHeaders)
    end
    if policy.responseHeaders ~= nil then
        changed_headers.of_answer(policy.responseHeaders)
    end
end

function _M.log()
    local status = ngx.status
    local context = ngx.ctx
    local service = context.service
    -- Empty when none was chosen.
    if service == nil then
        access_log.limit(status, state.owner_of(ngx.var.host))
        return
    end
    local is_logged = access_log.limit(status, service.owner)
    upstream.release(context)
    if context.tries > 0 then
        peers.ended(context, status)
    end
    if is_logged then
        peers.describe(context, ngx.var)
    end
    contexts.give_back(context)
end

return _M
