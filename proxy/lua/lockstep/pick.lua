-- Which endpoint of its service a request goes to, by what its route asks for.
local affinity = require("lockstep.affinity")
local balance = require("lockstep.balance")
local canary = require("lockstep.canary")
local least_latency = require("lockstep.least_latency")
local peer_list = require("lockstep.peer_list")
local ring = require("lockstep.ring")
local suspects = require("lockstep.suspects")

local _M = {}

-- The usual case, without a search: the next endpoint of the best tier, if all take turns there and
-- it is not suspect.
local function next_in_turn(peers)
    if peers.in_turn == 0 then
        return nil
    end
    local position = peers.cursor % peers.in_turn
    if suspects.is_marked(peers.at[position].slot) then
        return nil
    end
    peers.cursor = position + 1
    return position + 1
end

local function pick_in_turn(context, tried)
    local peers = context.peers
    local index = tried == nil and next_in_turn(peers)
    if index then
        return index
    end
    local service = peer_list.unpacked(context.service)
    local found, cursor = balance.pick(service, peers.cursor, tried, suspects.is_suspect)
    -- Many requests may fail at the same peer at once, and must not all go to the same other.
    peers.cursor = cursor or peers.cursor
    return found
end

local function hash_key(context, parts)
    local key = context.hash_key
    if not key then
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
        return ring.pick(peer_list.unpacked(context.service), key, tried, suspects.is_suspect)
    end
    if balancing.method == "least-latency" then
        context.is_measured = true
        context.peers.is_measured = true
        local service = peer_list.unpacked(context.service)
        return least_latency.pick(service, least_latency.now, tried, suspects.is_suspect)
    end
    return pick_in_turn(context, tried)
end

local function set_session(asked, value)
    if asked.header ~= nil then
        ngx.header[asked.header] = value
        return
    end
    local var = ngx.var
    local is_tls = var.lockstep_forwarded_proto == "https"
    local own = asked.cookie .. "="
    local before = ngx.header["Set-Cookie"]
    local cookies = {}
    -- Cookies of the auth service stay; one of an earlier try does not.
    for _, cookie in ipairs(type(before) == "table" and before or { before }) do
        if string.sub(cookie, 1, #own) ~= own then
            cookies[#cookies + 1] = cookie
        end
    end
    cookies[#cookies + 1] = affinity.cookie(asked, value, is_tls, var.http_user_agent)
    ngx.header["Set-Cookie"] = cookies
end

-- A session that a header sent to a canary stays there when the header is left out.
local function new_session(context)
    local session = affinity.new_session(ngx.var.request_id)
    local canaries = context.policy.prepared.canaries
    if canaries ~= nil and canary.is_forced(canaries, context.service.name, session) then
        return affinity.of_canary(session)
    end
    return session
end

-- A session keeps its cookie while that leads to an endpoint of the service, unless it asked for
-- another after a failure.
local function pick_by_session(context, balancing, tried)
    local asked, service = balancing.affinity, peer_list.unpacked(context.service)
    local value = context.session or ngx.var[affinity.variable(asked)] or ""
    local index, is_known = affinity.pick(service, value, tried, suspects.is_suspect)
    if not is_known and asked.mode == "balanced" then
        value = new_session(context)
        index = ring.pick(service, value, tried, suspects.is_suspect)
        set_session(asked, value)
    end
    context.session = value
    if index ~= nil and not (tried ~= nil and asked.changeOnFailure) then
        return index
    end
    index = index or pick_by_method(context, balancing, tried)
    if index ~= nil and (not is_known or asked.changeOnFailure) then
        set_session(asked, affinity.name_of(peer_list.name(service, index)))
    end
    return index
end

-- The index of the endpoint, as balance.pick.
function _M.endpoint(context, tried)
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

return _M
