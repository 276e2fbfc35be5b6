-- How often one client may use one route. For each there is the moment up to which its requests are
-- paid for: a request pays one interval, and is refused when that would be further ahead than the
-- burst allows. Adding is atomic, so workers share one bound. Memory is bounded: the clients that
-- came longest ago are forgotten first.
local monotonic = require("lockstep.monotonic")
local networks = require("lockstep.networks")

local paid = ngx.shared.lockstep_limits

local _M = {}

-- The owner of an IPv6 address has at least the whole /64 around it.
local IPV6_BYTES = 8
-- Beyond what is paid for: an entry that is forgotten earlier would give a new burst.
local KEPT_SECONDS = 1
-- Sums of fractions are not exact.
local ROUNDING = 1e-6

-- `name` stands for the route, whatever is pushed again.
function _M.prepare(name, rate_limit)
    local interval = 1 / rate_limit.requestsPerSecond
    local ahead = (rate_limit.burst + 1) * interval
    return { name = ngx.md5_bin(name), interval = interval, ahead = ahead }
end

-- Whether this request of the client, given by the bytes of its address, may pass now.
function _M.allows(limit, address)
    local client = networks.unmapped(address)
    if #client == 16 then
        client = string.sub(client, 1, IPV6_BYTES)
    end
    local key, interval, now = limit.name .. client, limit.interval, monotonic.now()
    local kept = limit.ahead + KEPT_SECONDS
    local paid_until = paid:incr(key, interval, now, kept)
    if paid_until == nil then
        -- There is no memory for one more entry: a limit that cannot be kept refuses no request.
        return true
    end
    if paid_until - interval < now then
        paid_until = now + interval
        paid:set(key, paid_until, kept)
    elseif paid_until > now + limit.ahead + ROUNDING then
        paid:incr(key, -interval)
        return false
    end
    paid:expire(key, kept)
    return true
end

return _M
