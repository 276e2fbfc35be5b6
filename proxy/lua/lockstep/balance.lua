-- Which endpoint of a service comes next. Pure: the same cases (proxy/cases/) hold for this and for
-- its twin in src/outputs/nginx/balance.ts.
--
-- A service has a flat array of slots, one for each endpoint, in tiers, the best first: endpoints for
-- ordinary times, those of clusters that stand in, draining ones, which still answer. The first
-- tier that has an endpoint which is neither tried nor suspect serves; when there is none, the same
-- again over the suspects, because trying is better than refusing.
local _M = {}

local floor = math.floor

-- Multiples of it, without their whole part, fill the range from 0 to 1 evenly however many are
-- taken (the golden ratio): endpoints come up by weight, and not in bursts.
local GOLDEN = 0.6180339887498949
-- Beyond this the multiples would lose digits.
local CURSORS = 1048576

-- The weights of a tier, each added to those before; nothing when they are all alike.
local function sums_of(weights, first, count)
    if weights == nil then
        return nil
    end
    local sums, sum, alike = {}, 0, true
    for position = 1, count do
        local weight = weights[first + position - 1]
        alike = alike and weight == weights[first]
        sum = sum + weight
        sums[position] = sum
    end
    return not alike and sums or nil
end

-- Runs once, when a service is decoded: makes `tiers` ready for the picks.
function _M.prepare(service)
    local tiers, first = {}, 1
    for _, count in ipairs(service.tiers) do
        if count > 0 then
            local sums = sums_of(service.weights, first, count)
            tiers[#tiers + 1] = { first = first, count = count, sums = sums }
        end
        first = first + count
    end
    service.tiers = tiers
    return service
end

-- The position, from 0, of the endpoint whose share of the tier holds the point (from 0 to 1).
function _M.position_at(tier, point)
    local sums, count = tier.sums, tier.count
    if sums == nil then
        return floor(point * count)
    end
    local wanted = point * sums[count]
    local low, high = 1, count
    while low < high do
        local middle = floor((low + high) / 2)
        if sums[middle] > wanted then
            high = middle
        else
            low = middle + 1
        end
    end
    return low - 1
end

-- Whether an endpoint may be picked, in the search for one that is suspect or in that for others.
local function fits(service, index, tried, is_suspect, wants_suspect)
    return not (tried and tried[index]) and is_suspect(service.slots[index]) == wants_suspect
end

_M.fits = fits

-- Once round, beginning at the cursor.
local function in_turn(service, tier, cursor, tried, is_suspect, wants_suspect)
    local first, count = tier.first, tier.count
    for step = 0, count - 1 do
        local position = (cursor + step) % count
        if fits(service, first + position, tried, is_suspect, wants_suspect) then
            return first + position, position + 1
        end
    end
    return nil
end

function _M.first_fitting(service, tier, ...)
    return (in_turn(service, tier, 0, ...))
end

-- Those that fit, by their weights: how far the point lies within the share of one that does not
-- says who gets it instead.
local function instead(service, tier, position, point, tried, is_suspect, wants_suspect)
    local first, count, sums, weights = tier.first, tier.count, tier.sums, service.weights
    local below = position > 0 and sums[position] or 0
    local share = (point * sums[count] - below) / weights[first + position]
    local sum = 0
    for index = first, first + count - 1 do
        if fits(service, index, tried, is_suspect, wants_suspect) then
            sum = sum + weights[index]
        end
    end
    local wanted = share * sum
    for index = first, first + count - 1 do
        if fits(service, index, tried, is_suspect, wants_suspect) then
            wanted = wanted - weights[index]
            if wanted < 0 then
                return index
            end
        end
    end
    return nil
end

local function by_weight(service, tier, cursor, tried, is_suspect, wants_suspect)
    local step = cursor % CURSORS
    local point = step * GOLDEN
    point = point - floor(point)
    local position = _M.position_at(tier, point)
    local index = tier.first + position
    if not fits(service, index, tried, is_suspect, wants_suspect) then
        index = instead(service, tier, position, point, tried, is_suspect, wants_suspect)
    end
    if index ~= nil then
        return index, step + 1
    end
    -- All that fit have no weight: one is as good as another.
    return in_turn(service, tier, cursor, tried, is_suspect, wants_suspect)
end

-- The first result of `choose(service, tier, what, ...)` over the tiers in order.
local function in_tiers(service, choose, what, ...)
    local tiers = service.tiers
    for number = 1, #tiers do
        local index, more = choose(service, tiers[number], what, ...)
        if index ~= nil then
            return index, more
        end
    end
    return nil
end

-- Looks for one that is not suspect in every tier, then for any.
function _M.in_tiers(service, choose, what, tried, is_suspect)
    local index, more = in_tiers(service, choose, what, tried, is_suspect, false)
    if index == nil then
        index, more = in_tiers(service, choose, what, tried, is_suspect, true)
    end
    return index, more
end

local function in_turn_or_by_weight(service, tier, cursor, ...)
    local choose = tier.sums == nil and in_turn or by_weight
    return choose(service, tier, cursor, ...)
end

-- Round robin: the index of the endpoint to use, from 1, and the cursor for the next request;
-- nothing when all were tried. `tried` is a set of indexes, or nothing.
function _M.pick(service, cursor, tried, is_suspect)
    return _M.in_tiers(service, in_turn_or_by_weight, cursor, tried, is_suspect)
end

return _M
