-- One service as it is pushed, checked and made what the balancer needs: flat arrays, IPv6 addresses
-- in brackets. Its twin is src/outputs/nginx/service-entry.ts.
local checks = require("lockstep.checks")
local rows = require("lockstep.rows")

local check, is_whole = checks.check, checks.is_whole

local _M = {}

-- A slot is counted up by rows.SLOTS for each endpoint it is given to.
_M.MOST_SLOT = 2 ^ 52
-- So that no sum of weights loses its small ones.
local MOST_WEIGHT = 1000000

-- The longest that an IPv6 address can be written.
local MOST_ADDRESS = 45

-- Only literal addresses: nothing here is ever resolved.
local function peer_address(value)
    check(type(value) == "string", "an address must be a string")
    check(#value <= MOST_ADDRESS, "an address must be an IP address")
    if value:find("^%d+%.%d+%.%d+%.%d+$") then
        return value
    end
    check(value:find("^[%x:.]+$") and value:find(":", 1, true), "an address must be an IP address")
    return "[" .. value .. "]"
end

local function tiers_of(value, count)
    check(type(value) == "table", "a service has tiers")
    local tiers, sum = {}, 0
    for index = 1, #value do
        check(is_whole(value[index], 0, count), "a tier is a number of endpoints")
        tiers[index] = value[index]
        sum = sum + value[index]
    end
    check(sum == count, "the tiers must hold every endpoint once")
    return tiers
end

local function weights_of(value, count)
    if value == nil then
        return nil
    end
    check(type(value) == "table" and #value == count, "one weight for each address, or none")
    local weights = {}
    for index = 1, count do
        local weight = value[index]
        local fits = type(weight) == "number" and weight >= 0 and weight <= MOST_WEIGHT
        check(fits, "a weight is a number from 0 to " .. MOST_WEIGHT)
        weights[index] = weight
    end
    return weights
end

local function check_lists(value)
    check(type(value) == "table" and type(value.addresses) == "table", "a service has addresses")
    local count = #value.addresses
    for _, field in ipairs({ "ports", "slots", "names" }) do
        local list = value[field]
        check(type(list) == "table" and #list == count, "one of the " .. field .. " an address")
    end
    return count
end

-- The service, and its slots as the pusher counts them.
function _M.parse(value)
    local count = check_lists(value)
    local service = {
        tiers = tiers_of(value.tiers, count),
        weights = weights_of(value.weights, count),
        addresses = {},
        ports = {},
        slots = {},
        names = {},
    }
    for index = 1, count do
        check(is_whole(value.ports[index], 1, 65535), "a port must be from 1 to 65535")
        check(is_whole(value.slots[index], 0, _M.MOST_SLOT), "a slot is out of range")
        check(type(value.names[index]) == "string", "the name of an endpoint must be a string")
        service.addresses[index] = peer_address(value.addresses[index])
        service.ports[index] = value.ports[index]
        service.slots[index] = value.slots[index] % rows.SLOTS
        service.names[index] = value.names[index]
    end
    return service, value.slots
end

return _M
