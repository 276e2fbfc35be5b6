-- The quicker of two endpoints drawn by chance, and what is known of how quick they are. The picks
-- are pure: the same cases (proxy/cases/) hold for them and for their twin in
-- src/outputs/nginx/least-latency.ts. All workers share the measurements.
local balance = require("lockstep.balance")
local counters = require("lockstep.counters")
local rows = require("lockstep.rows")

local _M = {}

local exp, max, min = math.exp, math.max, math.min

-- After this long an answer counts for a third, and one that is slow is soon tried again.
local DECAY_MS = 10000
-- An endpoint that just joined gets a growing share: its caches are cold and nothing is known of it.
local SLOW_START_MS = 10000
-- The resolution of nginx's clock. With 0 an idle endpoint would be infinitely better than any
-- other.
local LEAST_MS = 1

-- The average after one more answer. `age_ms` is how long ago the average was last made.
function _M.average(average_ms, age_ms, sample_ms)
    local kept = exp(-max(age_ms, 0) / DECAY_MS)
    return average_ms * kept + sample_ms * (1 - kept)
end

-- Less is better. A new request waits for those already at the endpoint.
function _M.cost(average_ms, age_ms, under_way)
    local decayed = average_ms * exp(-max(age_ms, 0) / DECAY_MS)
    return (decayed + LEAST_MS) * (under_way + 1)
end

-- From 0 to 1: the part of its ordinary share that an endpoint gets so long after it joined.
function _M.share(joined_ms_ago)
    -- A clock that went back must not delay an endpoint.
    return joined_ms_ago < 0 and 1 or min(joined_ms_ago / SLOW_START_MS, 1)
end

-- The first that fits from the point on, other than `taken`.
local function draw_one(service, tier, point, taken, ...)
    local start = balance.position_at(tier, point)
    for step = 0, tier.count - 1 do
        local index = tier.first + (start + step) % tier.count
        if index ~= taken and balance.fits(service, index, ...) then
            return index
        end
    end
    return nil
end

-- `chance` has draw(), a number from 0 to below 1, cost(slot) and share(slot).
local function of_two(service, tier, chance, ...)
    local better = draw_one(service, tier, chance.draw(), nil, ...)
    if better == nil then
        return nil
    end
    local other = draw_one(service, tier, chance.draw(), better, ...)
    if other == nil then
        return better
    end
    local slots = service.slots
    if chance.cost(slots[other]) < chance.cost(slots[better]) then
        better, other = other, better
    end
    local share = chance.share(slots[better])
    if share < chance.share(slots[other]) and chance.draw() >= share then
        return other
    end
    return better
end

-- The index of the endpoint to use, as balance.pick.
function _M.pick(service, chance, tried, is_suspect)
    return balance.in_tiers(service, of_two, chance, tried, is_suspect)
end

-- An endpoint took so long to begin its answer.
function _M.observe(slot, sample_ms)
    local endpoint = rows.endpoints[slot]
    local now_ms = ngx.now() * 1000
    if endpoint.measured_ms == 0 then
        endpoint.latency_ms = sample_ms
    else
        local age_ms = now_ms - endpoint.measured_ms
        endpoint.latency_ms = _M.average(endpoint.latency_ms, age_ms, sample_ms)
    end
    endpoint.measured_ms = now_ms
end

-- The chances of this moment.
_M.now = {
    draw = math.random,
    cost = function(slot)
        local endpoint = rows.endpoints[slot]
        local age_ms = ngx.now() * 1000 - endpoint.measured_ms
        return _M.cost(endpoint.latency_ms, age_ms, counters.under_way(slot))
    end,
    share = function(slot)
        return _M.share(ngx.now() * 1000 - rows.endpoints[slot].joined_ms)
    end,
}

return _M
