-- The endpoints that one request goes to: the first is chosen in the access phase, another in the
-- balancer when that fails; the log phase counts the last failure, which the balancer never sees.
--
-- Invariant: a request is sent to an endpoint twice only when there is no other and nginx asks for
-- it, after a kept connection was found closed.
local affinity = require("lockstep.affinity")
local balance = require("lockstep.balance")
local balancer = require("ngx.balancer")
local canary = require("lockstep.canary")
local counters = require("lockstep.counters")
local least_latency = require("lockstep.least_latency")
local ring = require("lockstep.ring")
local state = require("lockstep.state")
local suspects = require("lockstep.suspects")

local _M = {}

-- Unless the policy says otherwise. proxy_next_upstream_tries in server.conf bounds what it may say.
local TRIES = 3
local DEFAULT_CONNECT_MS = 1000
local DEFAULT_SEND_MS = 60000
local DEFAULT_READ_MS = 60000

local tls_protocols = { https = true, grpcs = true }

-- Where round robin stands, for each service this worker has served. Services come and go: beyond
-- so many, all begin anew.
local MOST_CURSORS = 100000
local cursors, cursor_count = {}, 0

-- Workers begin at different endpoints, or the first would get every first request.
local function first_cursor()
    cursor_count = cursor_count + 1
    if cursor_count > MOST_CURSORS then
        cursors, cursor_count = {}, 1
    end
    return ngx.worker.id()
end

local function pick_in_turn(context, tried)
    local name = context.name
    local cursor = cursors[name] or first_cursor()
    local index, next_cursor = balance.pick(context.service, cursor, tried, suspects.is_suspect)
    -- Many requests may fail at the same peer at once, and must not all go to the same other.
    cursors[name] = next_cursor or cursor
    return index
end

local function hash_key(context, parts)
    local key = context.hash_key
    if key == nil then
        local texts = {}
        for number, part in ipairs(parts) do
            texts[number] = part.text or ngx.var[part.variable] or ""
        end
        key = table.concat(texts)
        context.hash_key = key
    end
    return key
end

local function pick_by_method(context, balancing, tried)
    if balancing.method == "hash" then
        local key = hash_key(context, balancing.hashBy)
        return ring.pick(context.service, key, tried, suspects.is_suspect)
    end
    if balancing.method == "least-latency" then
        context.is_measured = true
        local now = least_latency.now
        return least_latency.pick(context.service, now, tried, suspects.is_suspect)
    end
    return pick_in_turn(context, tried)
end

local function set_cookie(asked, value)
    local var = ngx.var
    local is_tls = var.lockstep_forwarded_proto == "https"
    ngx.header["Set-Cookie"] = affinity.cookie(asked, value, is_tls, var.http_user_agent)
end

-- A session that a header sent to a canary stays there when the header is left out.
local function new_session(context)
    local session = affinity.new_session(ngx.var.request_id)
    local canaries = context.policy.prepared.canaries
    if canaries ~= nil and canary.is_forced(canaries, context.name, session) then
        return affinity.of_canary(session)
    end
    return session
end

-- A session keeps its cookie while that leads to an endpoint of the service, unless it asked for
-- another after a failure.
local function pick_by_session(context, balancing, tried)
    local asked, service = balancing.affinity, context.service
    local value = context.session or ngx.var["cookie_" .. asked.cookie] or ""
    local index, is_known = affinity.pick(service, value, tried, suspects.is_suspect)
    if not is_known and asked.mode == "balanced" then
        value = new_session(context)
        index = ring.pick(service, value, tried, suspects.is_suspect)
        set_cookie(asked, value)
    end
    context.session = value
    if index ~= nil and not (tried ~= nil and asked.changeOnFailure) then
        return index
    end
    index = index or pick_by_method(context, balancing, tried)
    if index ~= nil and (not is_known or asked.changeOnFailure) then
        set_cookie(asked, affinity.name_of(service.names[index]))
    end
    return index
end

local function pick(context, tried)
    local policy = context.policy
    local balancing = policy and policy.balance
    if balancing == nil then
        return pick_in_turn(context, tried)
    end
    if balancing.affinity ~= nil then
        return pick_by_session(context, balancing, tried)
    end
    return pick_by_method(context, balancing, tried)
end

local function use(context, index)
    local service = context.service
    context.address = service.addresses[index]
    context.port = service.ports[index]
    context.slot = service.slots[index]
    context.endpoint = service.names[index]
    suspects.try(context.slot)
end

-- In the access phase: the endpoint for a request to a service that has some. The policy may be
-- nothing. What is returned goes with the request, as ngx.ctx.lockstep.
function _M.choose(name, service, policy)
    local context = { name = name, service = service, policy = policy, tries = 0 }
    context.generation = state.generation
    use(context, pick(context, nil))
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

-- The slot that the endpoint has now: another Lockstep may have taken charge since it was chosen, and
-- to that one slots mean other endpoints. Nothing when the endpoint has left.
local function slot_now(context)
    state.refresh()
    if state.generation == context.generation then
        return context.slot
    end
    local service = state.service(context.name)
    for index, address in ipairs(service and service.addresses or {}) do
        if address == context.address and service.ports[index] == context.port then
            return service.slots[index]
        end
    end
    return nil
end

-- Whether the endpoint could not be reached, by any measure. It may serve other routes too, and theirs
-- must not suffer by one that is more hasty than usual, or that asks for TLS where there is none: a
-- handshake that fails looks like a connection that was refused.
local function is_unreachable(context, connect_time, seconds)
    if connect_time ~= "-" then
        return false
    end
    local policy = context.policy
    local timeouts = policy and policy.timeouts
    local patience_ms = timeouts and timeouts.connectMs or DEFAULT_CONNECT_MS
    local was_waited_for = (tonumber(seconds) or 0) * 1000 >= patience_ms
    if was_waited_for then
        return patience_ms >= DEFAULT_CONNECT_MS
    end
    return not (policy and tls_protocols[policy.protocol])
end

-- A failure after the connection was made says little about the next request: only a peer that
-- cannot be reached is suspect. The try is the n-th from the end.
local function note_failure(context, n)
    local slot = slot_now(context)
    if slot == nil then
        return
    end
    counters.count_failure(slot)
    local var = ngx.var
    local connect_time = item_from_end(var.upstream_connect_time, n)
    if is_unreachable(context, connect_time, item_from_end(var.upstream_response_time, n)) then
        suspects.mark(slot)
    end
end

-- By the newest state: what failed may have left it. When all were tried, the same once more, on a
-- new connection: nginx asks for that after a kept connection was found closed.
local function use_another(context)
    state.refresh()
    local service = state.service(context.name)
    if service ~= nil and #service.addresses > 0 then
        context.service = service
    end
    context.generation = state.generation
    service = context.service
    local tried = {}
    for index, address in ipairs(service.addresses) do
        tried[index] = context.tried[address .. ":" .. service.ports[index]]
    end
    local index = pick(context, tried)
    if index ~= nil then
        use(context, index)
    end
end

local function after_failure(context)
    context.tried = context.tried or {}
    context.tried[context.address .. ":" .. context.port] = true
    counters.count_end(context.slot)
    -- The lists already have an item for the try that begins.
    note_failure(context, 2)
    use_another(context)
end

local function set_timeouts(timeouts)
    local done, problem = balancer.set_timeouts(
        (timeouts.connectMs or DEFAULT_CONNECT_MS) / 1000,
        (timeouts.sendMs or DEFAULT_SEND_MS) / 1000,
        (timeouts.readMs or DEFAULT_READ_MS) / 1000
    )
    if not done then
        ngx.log(ngx.ERR, "cannot set the timeouts of a route: ", problem)
    end
end

-- In the balancer, once for each try.
function _M.balance(context)
    local policy = context.policy
    if context.tries > 0 then
        after_failure(context)
    elseif policy ~= nil and policy.timeouts ~= nil then
        set_timeouts(policy.timeouts)
    end
    context.tries = context.tries + 1
    counters.count_request(context.slot)
    local most = policy and policy.tries or TRIES
    if context.tries < most and #context.service.addresses > context.tries then
        balancer.set_more_tries(1)
    end
    local done, problem = balancer.set_current_peer(context.address, context.port)
    if not done then
        ngx.log(ngx.ERR, "cannot use the peer ", context.address, ": ", problem)
    end
end

-- In the log phase. Most requests are answered by an endpoint of which nothing has to be learnt.
function _M.ended(context)
    local slot, status = context.slot, ngx.status
    counters.count_end(slot)
    local is_failure = status == 502 or status == 504
    if not (is_failure or context.is_measured or suspects.is_marked(slot)) then
        return
    end
    local var = ngx.var
    local header_seconds = tonumber(item_from_end(var.upstream_header_time, 1))
    if header_seconds ~= nil then
        suspects.clear(slot)
        if context.is_measured then
            least_latency.observe(slot, header_seconds * 1000)
        end
    elseif is_failure then
        note_failure(context, 1)
    end
end

return _M
