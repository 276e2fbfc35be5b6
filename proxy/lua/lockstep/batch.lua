-- Hosts and services as they arrive, checked: what is stored is well formed, whoever sent it. The
-- order of endpoints and the bracketing of addresses are what the balancer needs.
local cjson = require("cjson")
local rows = require("lockstep.rows")

local _M = {}

local types = { Exact = true, Prefix = true }

local function is_whole(value, least, most)
    return type(value) == "number" and value % 1 == 0 and value >= least and value <= most
end

local function check(condition, message)
    if not condition then
        error({ problem = message })
    end
end

local function rules_of(value)
    check(type(value) == "table", "the rules of a host must be a list")
    local rules = {}
    for index, rule in ipairs(value) do
        check(type(rule) == "table", "a rule must be an object")
        local path = rule.path
        check(type(path) == "string" and path:sub(1, 1) == "/", "a path must begin with a slash")
        check(types[rule.type] == true, "a rule is Exact or Prefix")
        check(type(rule.service) == "string", "a rule must name its service")
        rules[index] = { path = path, type = rule.type, service = rule.service }
    end
    return rules
end

-- Only literal addresses: nothing here is ever resolved.
local function peer_address(value)
    check(type(value) == "string", "an address must be a string")
    if value:find("^%d+%.%d+%.%d+%.%d+$") then
        return value
    end
    check(value:find("^[%x:.]+$") and value:find(":", 1, true), "an address must be an IP address")
    return "[" .. value .. "]"
end

local function service_of(value)
    check(type(value) == "table" and type(value.addresses) == "table", "a service has addresses")
    check(type(value.ports) == "table" and type(value.slots) == "table", "and ports and slots")
    local count = #value.addresses
    check(#value.ports == count and #value.slots == count, "one port and slot for each address")
    check(is_whole(value.active, 0, count), "active endpoints come first and are counted")
    local service = { active = value.active, addresses = {}, ports = {}, slots = {} }
    local highest_slot = 0
    for index = 1, count do
        check(is_whole(value.ports[index], 1, 65535), "a port must be from 1 to 65535")
        check(is_whole(value.slots[index], 0, rows.SLOTS - 1), "a slot is out of range")
        service.addresses[index] = peer_address(value.addresses[index])
        service.ports[index] = value.ports[index]
        service.slots[index] = value.slots[index]
        highest_slot = math.max(highest_slot, value.slots[index])
    end
    return service, highest_slot
end

local function values_of(body, field)
    local values = body[field]
    check(values == nil or type(values) == "table", field .. " must be an object")
    return values or {}
end

local function parse(text)
    local body = cjson.decode(text)
    check(type(body) == "table", "the body must be an object")
    local batch = { hosts = {}, services = {}, highest_slot = 0 }
    for name, value in pairs(values_of(body, "hosts")) do
        check(type(name) == "string", "hosts have names")
        batch.hosts[name] = value == cjson.null and value or rules_of(value)
    end
    for name, value in pairs(values_of(body, "services")) do
        check(type(name) == "string", "services have names")
        batch.services[name] = value
        if value ~= cjson.null then
            local service, highest_slot = service_of(value)
            batch.services[name] = service
            batch.highest_slot = math.max(batch.highest_slot, highest_slot)
        end
    end
    return batch
end

-- The batch, or nothing and what is wrong with it.
function _M.parse(text)
    local fine, result = pcall(parse, text)
    if fine then
        return result
    end
    return nil, type(result) == "table" and result.problem or "the body is not JSON"
end

return _M
