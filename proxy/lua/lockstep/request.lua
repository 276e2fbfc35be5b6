-- The life of one request: the access phase decides whether and where, the balancer names the
-- endpoint and, after a failure, another one (peers.lua), the log phase notes how it went.
local access_log = require("lockstep.access_log")
local admission = require("lockstep.admission")
local answer = require("lockstep.answer")
local peers = require("lockstep.peers")
local state = require("lockstep.state")
local upstream = require("lockstep.upstream")

local _M = {}

-- `here` is the location's own class (see upstream.lua).
function _M.access(here)
    local var = ngx.var
    local name, policy = admission.admit(here, var)
    local service = state.service(name)
    if service == nil or #service.addresses == 0 then
        var.lockstep_service = name
        return answer.refuse(503, "no endpoints")
    end
    local context = peers.choose(name, service, policy)
    ngx.ctx.lockstep = context
    var.lockstep_upstream = upstream.url(context, policy, context.slot)
end

function _M.balance()
    return peers.balance(ngx.ctx.lockstep)
end

function _M.log()
    local is_logged = access_log.limit(ngx.status)
    local context = ngx.ctx.lockstep
    if context == nil then
        return
    end
    upstream.release(context)
    if context.tries > 0 then
        peers.ended(context)
    end
    if is_logged then
        local var = ngx.var
        var.lockstep_service = context.name
        if context.tries > 0 then
            var.lockstep_slot = context.slot
            var.lockstep_endpoint = context.endpoint
        end
    end
end

return _M
