-- Through which of the constant upstream blocks a request goes. Each protocol has its own, and nginx
-- finds a kept connection there by its address alone; so a block of TLS belongs to one name at a time.
--
-- Invariant: in this worker every connection of a TLS block was made with the name of its owner. The
-- owner changes only when none of its requests is under way and none of its connections can be left.
local monotonic = require("lockstep.monotonic")

local _M = {}

-- As in upstreams.conf and upstreams-classes.conf.
local HTTP_BLOCKS = 64
local GRPC_BLOCKS = 16
local TLS_BLOCKS = 32
-- A kept connection ends after 60 s (keepalive_timeout there); nginx's timers are never this late.
local IDLE_SECONDS = 65

-- By protocol, the class: the location whose settings it needs. Endpoints of some must prove their
-- name.
local classes = {
    http = "http",
    https = "http",
    grpc = "grpc",
    grpcs = "grpc",
}
local verified_classes = { https = "https_verified", grpcs = "grpcs_verified" }

local urls = { http = {}, post = {}, grpc = {} }
for number = 0, HTTP_BLOCKS - 1 do
    urls.http[number] = "http://" .. number .. "_http"
    urls.post[number] = "http://" .. number .. "_post"
end
for number = 0, GRPC_BLOCKS - 1 do
    urls.grpc[number] = "grpc://" .. number .. "_grpc"
end

-- By kind of TLS block: { owner, under_way, free_at } for each block that was ever used.
local pools = { https = {}, https_verified = {}, grpcs = {}, grpcs_verified = {} }

-- The class of a route: the location whose settings its requests need.
function _M.class_of(policy)
    local protocol = policy and policy.protocol
    if protocol == nil then
        return "http"
    end
    if policy.verifyUpstream then
        return verified_classes[protocol] or classes[protocol]
    end
    return classes[protocol]
end

-- Goes over to the location of a class, whose access phase begins again. Does not return.
function _M.enter(class)
    return ngx.exec("@" .. class)
end

local function first_block(name)
    local hash = 0
    for position = 1, #name do
        hash = (hash * 31 + string.byte(name, position)) % 65536
    end
    return hash % TLS_BLOCKS
end

-- The block that belongs to the name, or may from now on; nothing when another's is in its place.
local function take(kind, name)
    local blocks, number = pools[kind], first_block(name)
    local block = blocks[number]
    if block == nil then
        block = { owner = name, under_way = 0, free_at = 0, number = number }
        blocks[number] = block
    elseif block.owner ~= name then
        if block.under_way > 0 or monotonic.now() < block.free_at then
            return nil
        end
        block.owner = name
    end
    block.under_way = block.under_way + 1
    return block
end

local function tls_url(context, kind, name)
    local block = take(kind, name)
    context.tls_block = block
    local scheme = string.sub(kind, 1, 5)
    return scheme .. "://" .. (block and block.number or "once") .. "_" .. kind
end

-- Plain HTTP. Requests that nginx does not repeat have connections apart. nginx binds these to any address
-- of the machine, which changes nothing but makes them known (see silent_connections.lua).
local function http_url(context, slot)
    if not context.is_apart then
        return urls.http[slot % HTTP_BLOCKS]
    end
    ngx.var.lockstep_bind = context.peers.is_ipv6 and "[::]" or "0.0.0.0"
    return urls.post[slot % HTTP_BLOCKS]
end

-- Endpoints that speak neither plain HTTP nor plain gRPC, or need another host header.
local function special_url(context, policy, slot)
    local var, protocol, host = ngx.var, policy.protocol, policy.upstreamHost
    if host ~= nil then
        var.lockstep_upstream_host = host
    end
    if policy.forwardedPrefix ~= nil then
        var.lockstep_prefix = policy.forwardedPrefix
    end
    if protocol == nil or protocol == "http" then
        return http_url(context, slot)
    end
    context.is_apart = false
    if protocol == "grpc" then
        return urls.grpc[slot % GRPC_BLOCKS]
    end
    local name = policy.upstreamTlsName or host and string.gsub(host, ":%d+$", "") or var.host
    var.lockstep_tls_name = name
    return tls_url(context, policy.verifyUpstream and protocol .. "_verified" or protocol, name)
end

-- The URL for proxy_pass or grpc_pass to the endpoint in this slot. The context belongs to the
-- request; pass it to `release` later.
function _M.url(context, policy, slot)
    if policy == nil then
        return http_url(context, slot)
    end
    return special_url(context, policy, slot)
end

-- At the end of every request.
function _M.release(context)
    local block = context.tls_block
    if block then
        block.under_way = block.under_way - 1
        block.free_at = monotonic.now() + IDLE_SECONDS
        context.tls_block = false
    end
end

function _M.refuse_unverifiable()
    ngx.var.lockstep_reason = "no CA bundle to verify the endpoint by"
    return ngx.exit(502)
end

return _M
