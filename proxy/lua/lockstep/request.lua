-- The life of one request: the access phase decides whether and where, the balancer names the peer
-- and, after a failure, another one; the log phase counts the last failure, which the balancer never
-- sees.
local balance = require("lockstep.balance")
local balancer = require("ngx.balancer")
local counters = require("lockstep.counters")
local route = require("lockstep.route")
local state = require("lockstep.state")
local suspects = require("lockstep.suspects")

local _M = {}

-- With proxy_next_upstream_tries in nginx.conf.
local MOST_TRIES = 3
local SHARDS = 64

-- A new nginx listens before it is told anything, and is told everything soon after. Requests of
-- that moment wait for it: three seconds, which is longer than any load but shorter than a client's
-- patience.
local LOAD_POLL_SECONDS = 0.02
local LOAD_POLLS = 150

local shard_names = {}
for shard = 0, SHARDS - 1 do
    shard_names[shard] = "lockstep_" .. shard
end

-- Where round robin stands, for each service this worker has served.
local cursors = {}

local function refuse(status, reason)
    ngx.var.lockstep_reason = reason
    return ngx.exit(status)
end

local function use(context, index)
    local service = context.service
    context.address = service.addresses[index]
    context.port = service.ports[index]
    context.slot = service.slots[index]
end

local function load_comes()
    for _ = 1, LOAD_POLLS do
        ngx.sleep(LOAD_POLL_SECONDS)
        state.refresh()
        if state.generation > 0 then
            return true
        end
    end
    return false
end

function _M.access()
    state.refresh()
    if state.generation == 0 and not load_comes() then
        return refuse(503, "nothing loaded yet")
    end
    local var = ngx.var
    local name = route.find(state.host, var.host, var.uri)
    if name == nil then
        return refuse(404, "no route")
    end
    var.lockstep_service = name
    local service = state.service(name)
    if service == nil or #service.addresses == 0 then
        return refuse(503, "no endpoints")
    end
    -- Workers begin at different endpoints, or the first would get every first request.
    local cursor = cursors[name] or ngx.worker.id()
    local index, next_cursor = balance.pick(service, cursor, nil, suspects.is_suspect)
    cursors[name] = next_cursor
    local context = { name = name, service = service, tries = 0 }
    use(context, index)
    ngx.ctx.lockstep = context
    var.lockstep_shard = shard_names[context.slot % SHARDS]
end

-- The n-th item, from the end, of a list like "0.001, -": nginx adds one for each try.
local function item_from_end(list, n)
    local items = {}
    for item in string.gmatch(list or "", "[^,%s]+") do
        items[#items + 1] = item
    end
    return items[#items - n + 1]
end

-- A failure after the connection was made says little about the next request: only a peer that
-- cannot be reached is suspect.
local function note_failure(context, connect_time)
    counters.count_failure(context.slot)
    if connect_time == "-" then
        suspects.mark(context.slot)
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
    service = context.service
    local tried = {}
    for index, address in ipairs(service.addresses) do
        tried[index] = context.tried[address .. ":" .. service.ports[index]]
    end
    local cursor = cursors[context.name] or 0
    local index, next_cursor = balance.pick(service, cursor, tried, suspects.is_suspect)
    if index ~= nil then
        -- Many requests may fail at the same peer at once, and must not all go to the same other.
        cursors[context.name] = next_cursor
        use(context, index)
    end
end

function _M.balance()
    local context = ngx.ctx.lockstep
    if context.tries > 0 then
        context.tried = context.tried or {}
        context.tried[context.address .. ":" .. context.port] = true
        -- The list already has an item for the try that begins.
        note_failure(context, item_from_end(ngx.var.upstream_connect_time, 2))
        use_another(context)
    end
    context.tries = context.tries + 1
    counters.count_request(context.slot)
    if context.tries < MOST_TRIES and #context.service.addresses > context.tries then
        balancer.set_more_tries(1)
    end
    local done, problem = balancer.set_current_peer(context.address, context.port)
    if not done then
        ngx.log(ngx.ERR, "cannot use the peer ", context.address, ": ", problem)
    end
end

function _M.log()
    local context = ngx.ctx.lockstep
    if context == nil or context.tries == 0 then
        return
    end
    ngx.var.lockstep_slot = context.slot
    local status = ngx.status
    local answered = item_from_end(ngx.var.upstream_header_time, 1) ~= "-"
    if answered then
        suspects.clear(context.slot)
    elseif status == 502 or status == 504 then
        note_failure(context, item_from_end(ngx.var.upstream_connect_time, 1))
    end
end

return _M
