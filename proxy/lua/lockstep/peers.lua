-- The endpoints that one request goes to: the first is chosen in the access phase, another in the
-- balancer when that fails; the log phase counts the last failure, which the balancer never sees.
--
-- Invariant: a request is sent to an endpoint twice only when there is no other and nginx asks for
-- it, after a kept connection was found closed, or the route asks for more tries than there are
-- endpoints.
local balancer = require("ngx.balancer")
local base = require("resty.core.base")
local connection_check = require("lockstep.connection_check")
local contexts = require("lockstep.context")
local counters = require("lockstep.counters")
local ffi = require("ffi")
local least_latency = require("lockstep.least_latency")
local peer_list = require("lockstep.peer_list")
local pick = require("lockstep.pick")
local silent_connections = require("lockstep.silent_connections")
local state = require("lockstep.state")
local suspects = require("lockstep.suspects")

local _M = {}

-- Unless the policy says otherwise. proxy_next_upstream_tries in server.conf bounds what it may say.
local TRIES = 3
local DEFAULT_CONNECT_MS = 500
local DEFAULT_SEND_MS = 60000
local DEFAULT_READ_MS = 60000

-- As nginx sees it, once such a request was sent.
local unrepeatable_methods = { POST = true, PATCH = true, LOCK = true }

local tls_protocols = { https = true, grpcs = true }

local function use(context, index)
    context.index = index
    context.slot = context.peers.at[index - 1].slot
    suspects.try(context.slot)
end

-- In the access phase: the endpoint for a request to a service that has some, the list. The policy
-- may be nothing. The result goes with the request, as ngx.ctx.
function _M.choose(service, list, policy)
    local context = contexts.take(service, list, policy, state.generation)
    use(context, pick.endpoint(context, nil))
    context.is_unrepeatable = unrepeatable_methods[ngx.req.get_method()] == true
    context.is_apart = context.is_unrepeatable and not list.is_mixed
    return context
end

-- The n-th item, from the end, of a list like "0.001, -": nginx adds one for each try.
local function item_from_end(list, n)
    local items = {}
    for item in string.gmatch(list or "", "[^,%s]+") do
        items[#items + 1] = item
    end
    return items[#items - n + 1]
end

-- The slot that the endpoint has now. Since it was chosen its service may have changed, and the slot
-- have passed to another endpoint; or another Lockstep has taken charge, to which slots mean others.
-- Nothing when the endpoint has left.
local function slot_now(context)
    state.refresh()
    if state.generation == context.generation and not context.peers.is_stale then
        return context.slot
    end
    local used = peer_list.key(context.peers, context.index)
    local service = state.service(context.service.name)
    for index = 1, service and service.peers.count or 0 do
        if peer_list.key(service.peers, index) == used then
            return service.peers.at[index - 1].slot
        end
    end
    return nil
end

-- Marks the endpoint if it could not be reached by any measure. It may serve other routes too,
-- which must not suffer from a route with short timeouts or with TLS by mistake. A failed handshake
-- looks like a refused connection, and has to be distinguished from it.
local function mark_unreachable(context, slot, seconds)
    local policy = context.policy
    local timeouts = policy and policy.timeouts
    local patience_ms = timeouts and timeouts.connectMs or DEFAULT_CONNECT_MS
    local was_waited_for = (tonumber(seconds) or 0) * 1000 >= patience_ms
    if was_waited_for and patience_ms < DEFAULT_CONNECT_MS then
        return
    end
    if was_waited_for or not (policy and tls_protocols[policy.protocol]) then
        suspects.mark(slot, context.service.owner)
        return
    end
    local peer = context.peers.at[context.index - 1]
    local address = ffi.string(peer.address, peer.address_length)
    connection_check.begin(context.service.owner, slot, address, peer.port)
end

-- A failure after the connection was made says little about the next request, unless the connection
-- was ended because it was silent: only a peer that cannot be reached is suspect. The try is the n-th
-- from the end.
local function note_failure(context, n)
    local slot = slot_now(context)
    if slot == nil then
        return
    end
    counters.count_failure(slot)
    local var = ngx.var
    if item_from_end(var.upstream_connect_time, n) == "-" then
        mark_unreachable(context, slot, item_from_end(var.upstream_response_time, n))
    elseif silent_connections.was_cut(peer_list.key(context.peers, context.index)) then
        suspects.mark(slot, context.service.owner)
    else
        suspects.end_trial(slot)
    end
end

local function note_answer(context, header_seconds)
    local slot = slot_now(context)
    if slot == nil then
        return
    end
    suspects.clear(slot)
    if context.is_measured then
        least_latency.observe(slot, header_seconds * 1000)
    end
end

-- Whether each endpoint of the list was tried. Those that just fell silent count as well while there are
-- others.
local function tried_of(context)
    local tried, avoided, others = {}, {}, 0
    for index = 1, context.peers.count do
        local key = peer_list.key(context.peers, index)
        tried[index] = context.tried[key]
        avoided[index] = tried[index] or silent_connections.was_cut(key)
        others = others + (avoided[index] and 0 or 1)
    end
    return others > 0 and avoided or tried
end

-- Whether the route has some answers of endpoints repeated: then also at the same endpoint.
local function retries_answers(policy)
    return policy ~= nil and policy.retryOn ~= nil
end

-- By the newest state: what failed may have left it. When all were tried, the same once more, on a
-- new connection: nginx asks for that after a kept connection was found closed.
local function use_another(context)
    state.refresh()
    local service = state.service(context.service.name)
    if service ~= nil and service.peers.count > 0 then
        context.service, context.peers = service, service.peers
    end
    context.generation = state.generation
    local index = pick.endpoint(context, tried_of(context))
    if index == nil and retries_answers(context.policy) then
        context.tried = false
        index = pick.endpoint(context, nil)
    end
    if index ~= nil then
        use(context, index)
    end
end

-- Running requests are counted where they are used.
local function begin(context, has_more_tries)
    counters.count_request(context.slot)
    if context.peers.is_measured then
        counters.begin(context.slot)
        context.is_under_way = true
    end
    if context.is_unrepeatable or not has_more_tries then
        local endpoint, owner = peer_list.key(context.peers, context.index), context.service.owner
        context.waits_for = endpoint
        silent_connections.begin(endpoint, context.slot, owner, context.is_apart)
    end
end

local function finish(context)
    if context.is_under_way then
        counters.finish(context.slot)
        context.is_under_way = false
    end
    if context.waits_for then
        silent_connections.finish(context.waits_for, context.is_apart)
        context.waits_for = false
    end
end

local function after_failure(context)
    context.tried = context.tried or {}
    context.tried[peer_list.key(context.peers, context.index)] = true
    finish(context)
    -- The lists already have an item for the try that begins.
    local header_seconds = tonumber(item_from_end(ngx.var.upstream_header_time, 2))
    if header_seconds ~= nil then
        note_answer(context, header_seconds)
    else
        note_failure(context, 2)
    end
    use_another(context)
end

local function set_timeouts(timeouts, connect_ms)
    local done, problem = balancer.set_timeouts(
        (timeouts.connectMs or connect_ms) / 1000,
        (timeouts.sendMs or DEFAULT_SEND_MS) / 1000,
        (timeouts.readMs or DEFAULT_READ_MS) / 1000
    )
    if not done then
        ngx.log(ngx.ERR, "cannot set the timeouts of a route: ", problem)
    end
end

-- For a try after the first. A request that has waited, perhaps for another endpoint of the same
-- machine, waits as the open connections suggest. One that was refused at once has time for an endpoint
-- far away, to which none may be open yet.
local function next_connect_ms()
    local left_ms = DEFAULT_CONNECT_MS - (ngx.now() - ngx.req.start_time()) * 1000
    return math.max(left_ms, silent_connections.connect_ms(DEFAULT_CONNECT_MS))
end

-- Of a request that must be answered within some time, whichever endpoint is tried: what is left of it
-- is how long this one may be silent. False when nothing is left.
local function keep_deadline(context, policy)
    local left_ms = policy.deadlineMs - (ngx.now() - ngx.req.start_time()) * 1000
    if left_ms <= 0 then
        return false
    end
    local timeouts = policy.timeouts or {}
    local connect_ms = DEFAULT_CONNECT_MS
    if context.tries > 0 then
        connect_ms = next_connect_ms()
    end
    set_timeouts({
        connectMs = timeouts.connectMs,
        sendMs = math.min(timeouts.sendMs or DEFAULT_SEND_MS, left_ms),
        readMs = math.min(timeouts.readMs or DEFAULT_READ_MS, left_ms),
    }, connect_ms)
    return true
end

local problem = base.get_errmsg_ptr()

-- As balancer.set_current_peer, which would want a string.
local function connect_to(peer)
    local request = base.get_request()
    local address, length = peer.address, peer.address_length
    local set = ffi.C.ngx_http_lua_ffi_balancer_set_current_peer
    if set(request, address, length, peer.port, problem) ~= base.FFI_OK then
        local text = ffi.string(address, length)
        ngx.log(ngx.ERR, "cannot use the peer ", text, ": ", ffi.string(problem[0]))
    end
end

-- In the balancer, once for each try.
function _M.balance(context)
    local policy = context.policy
    local timeouts = policy and policy.timeouts
    if context.tries > 0 then
        after_failure(context)
    end
    if policy ~= nil and policy.deadlineMs ~= nil then
        if not keep_deadline(context, policy) then
            context.is_late = true
            return ngx.exit(504)
        end
    elseif context.tries > 0 then
        set_timeouts(timeouts or {}, next_connect_ms())
    elseif timeouts then
        set_timeouts(timeouts, DEFAULT_CONNECT_MS)
    end
    context.tries = context.tries + 1
    local peers = context.peers
    local most = policy and policy.tries or TRIES
    local has_others = peers.count > context.tries or retries_answers(policy)
    local has_more_tries = context.tries < most and has_others
    begin(context, has_more_tries)
    if has_more_tries then
        balancer.set_more_tries(1)
    end
    connect_to(peers.at[context.index - 1])
end

-- In the log phase. Most requests are answered by an endpoint of which nothing has to be learnt.
function _M.ended(context, status)
    finish(context)
    local is_failure = status == 502 or status == 504
    if not (is_failure or context.is_measured or suspects.is_marked(context.slot)) then
        return
    end
    local header_seconds = tonumber(item_from_end(ngx.var.upstream_header_time, 1))
    if header_seconds ~= nil then
        note_answer(context, header_seconds)
    elseif is_failure then
        note_failure(context, 1)
    end
end

-- For the line in the access log.
function _M.describe(context, var)
    var.lockstep_service = context.service.name
    if context.tries > 0 then
        var.lockstep_slot = context.slot
        var.lockstep_endpoint = peer_list.name(context.service, context.index)
    end
end

return _M
