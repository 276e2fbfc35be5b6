-- The endpoint of a key, the same in every worker and every replica. Pure: the same cases
-- (proxy/cases/) hold for this and for its twin in src/outputs/nginx/ring.ts.
--
-- Each endpoint has some points on a ring, given by its name. A key has some as well; of all the
-- distances from one of them to the point of an endpoint that follows, the shortest wins (multi-probe
-- consistent hashing). So an endpoint that leaves gives away its own keys and no others, one that
-- joins takes its share from all, and a ring is much smaller than with points of endpoints alone.
local balance = require("lockstep.balance")
local bit = require("bit")
local peer_list = require("lockstep.peer_list")

local _M = {}

local tobit, bxor, lshift, rshift = bit.tobit, bit.bxor, bit.lshift, bit.rshift

-- With these, of 50 endpoints the busiest has 1.2 times its share of the keys and the idlest 0.8.
local PROBES = 11
local POINTS = 8
local RING = 4294967296
-- With a point below RING still a whole number.
local MOST_POSITIONS = 1048576

-- Every bit of the result depends on every bit of the number (Bob Jenkins' integer hash).
local function mix(number)
    number = tobit(number + 0x7ed55d16 + lshift(number, 12))
    number = bxor(number, 0xc761c23c, rshift(number, 19))
    number = tobit(number + 0x165667b1 + lshift(number, 5))
    number = bxor(tobit(number + 0xd3a2646c), lshift(number, 9))
    number = tobit(number + 0xfd7046c5 + lshift(number, 3))
    return bxor(number, 0xb55a4f09, rshift(number, 16))
end

-- The points of a tier in their order, and whose they are.
local function ring_of(service, tier)
    local keys, weights, names = {}, service.weights, peer_list.names(service)
    for position = 0, tier.count - 1 do
        local index = tier.first + position
        -- An endpoint with weight 0 has no keys.
        if tier.sums == nil or weights[index] > 0 then
            local hash = mix(tobit(ngx.crc32_long(names[index])))
            local stride = mix(hash)
            for number = 0, POINTS - 1 do
                local point = (hash + number * stride) % RING
                keys[#keys + 1] = point * MOST_POSITIONS + position
            end
        end
    end
    table.sort(keys)
    local ring = { points = {}, indexes = {} }
    for number, key in ipairs(keys) do
        local position = key % MOST_POSITIONS
        ring.points[number] = (key - position) / MOST_POSITIONS
        ring.indexes[number] = tier.first + position
    end
    return ring
end

-- The number of the first point that is not before `at`; after the last comes the first again.
local function following(points, at)
    local low, high = 1, #points + 1
    while low < high do
        local middle = rshift(low + high, 1)
        if points[middle] < at then
            low = middle + 1
        else
            high = middle
        end
    end
    return low <= #points and low or 1
end

-- The index of the endpoint that is nearest to any point of the key.
local function nearest(service, tier, ring, hash)
    local points, indexes = ring.points, ring.indexes
    local weights = tier.sums ~= nil and service.weights or nil
    local stride = mix(hash)
    local best, shortest = nil, math.huge
    for probe = 0, PROBES - 1 do
        local at = (hash + probe * stride) % RING
        local number = following(points, at)
        local index = indexes[number]
        local distance = (points[number] - at) % RING
        -- One that weighs more is as near as several would be.
        distance = weights and distance / weights[index] or distance
        if distance < shortest then
            best, shortest = index, distance
        end
    end
    return best
end

-- A ring without the endpoints that do not fit.
local function ring_of_fitting(service, ring, ...)
    local fitting = { points = {}, indexes = {} }
    for number, index in ipairs(ring.indexes) do
        if balance.fits(service, index, ...) then
            fitting.points[#fitting.points + 1] = ring.points[number]
            fitting.indexes[#fitting.indexes + 1] = index
        end
    end
    return fitting
end

-- The nearest of all endpoints is the nearest of those that fit, if it fits itself.
local function nearest_fitting(service, tier, hash, ...)
    local ring = tier.ring
    if ring == nil then
        ring = ring_of(service, tier)
        tier.ring = ring
    end
    if ring.points[1] ~= nil then
        local index = nearest(service, tier, ring, hash)
        if balance.fits(service, index, ...) then
            return index
        end
        ring = ring_of_fitting(service, ring, ...)
        if ring.points[1] ~= nil then
            return nearest(service, tier, ring, hash)
        end
    end
    return balance.first_fitting(service, tier, ...)
end

-- The index of the key's endpoint, as balance.pick; the same for the same key as long as it serves.
function _M.pick(service, key, tried, is_suspect)
    local hash = mix(tobit(ngx.crc32_long(key)))
    return balance.in_tiers(service, nearest_fitting, hash, tried, is_suspect)
end

return _M
