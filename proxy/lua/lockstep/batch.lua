-- Checks pushed data: only well-formed data is stored, from any sender.
local cjson = require("cjson")
local checks = require("lockstep.checks")
local host_entry = require("lockstep.host_entry")
local policy_entry = require("lockstep.policy_entry")
local rows = require("lockstep.rows")
local service_entry = require("lockstep.service_entry")

local check = checks.check

local _M = {}

-- Longer than a host or a namespace with a name may be; a key in shared memory holds 64 kB.
local MOST_NAME = 1024
-- As maxUsers in src/sources/checked-users.ts.
local MOST_USERS = 5000
-- A canary's header is 7 deep.
local MOST_DEPTH = 16

local json = cjson.new()
json.decode_invalid_numbers(false)
json.decode_max_depth(MOST_DEPTH)

local fields = {
    hosts = true,
    services = true,
    certificates = true,
    serverNames = true,
    users = true,
    policies = true,
}

local CERTIFICATE_PEM = "^%-%-%-%-%-BEGIN CERTIFICATE%-%-%-%-%-\n"
local KEY_PEM = "^%-%-%-%-%-BEGIN [A-Z ]*PRIVATE KEY%-%-%-%-%-\n"

local function certificate_of(value)
    check(type(value) == "table", "a certificate must be an object")
    check(type(value.chain) == "string" and type(value.key) == "string", "with chain and key")
    -- Reading keys takes long, and thousands may come at once: that is left to the handshake.
    check(value.chain:find(CERTIFICATE_PEM), "a chain must be certificates in PEM")
    check(value.key:find(KEY_PEM), "a key must be a private key in PEM")
    return { chain = value.chain, key = value.key }
end

local function server_name_of(value)
    check(type(value) == "string", "a name asked for in TLS leads to a certificate's name")
    return value
end

-- Users with the digests of their passwords, in pairs.
local function users_of(value)
    check(type(value) == "table", "users must be a list")
    local users, count = {}, 0
    for _, pair in pairs(value) do
        check(type(pair) == "table" and #pair == 2, "a user has a name and a digest")
        local name, digest = pair[1], pair[2]
        check(type(name) == "string" and #name <= MOST_NAME, "a user has a name, of some length")
        check(type(digest) == "string" and #digest <= MOST_NAME, "a digest is a text")
        check(not digest:find("%c"), "a digest has no control characters")
        count = count + 1
        users[count] = { name, digest }
    end
    check(count == #value and count <= MOST_USERS, "users are too many or no list")
    return users
end

-- By its name, each value as `parse_one` makes it; null, which removes, stays.
local function parse_all(values, parse_one)
    check(values == nil or type(values) == "table", "entries must be in an object")
    local parsed = {}
    for name, value in pairs(values or {}) do
        check(type(name) == "string" and #name <= MOST_NAME, "entries have names, of some length")
        if value ~= cjson.null then
            value = parse_one(value)
        end
        parsed[name] = value
    end
    return parsed
end

local function parse(text)
    local body = json.decode(text)
    check(type(body) == "table", "the body must be an object")
    for field in pairs(body) do
        check(fields[field] == true, "the body has a field that is not known")
    end
    local slots = {}
    return {
        hosts = parse_all(body.hosts, host_entry.parse),
        services = parse_all(body.services, function(value)
            local service, own_slots = service_entry.parse(value)
            slots[#slots + 1] = own_slots
            return service
        end),
        certificates = parse_all(body.certificates, certificate_of),
        server_names = parse_all(body.serverNames, server_name_of),
        users = parse_all(body.users, users_of),
        policies = parse_all(body.policies, policy_entry.parse),
        slots = slots,
    }
end

local function parse_slots(text)
    local body = json.decode(text)
    check(type(body) == "table", "the body must be a list of slots")
    local slots = {}
    for _, number in pairs(body) do
        check(checks.is_whole(number, 0, service_entry.MOST_SLOT), "a slot is out of range")
        slots[#slots + 1] = number
    end
    check(#slots == #body and #slots <= rows.SLOTS, "slots are too many or no list")
    return slots
end

local function parsed(parse_body, text)
    local fine, result = pcall(parse_body, text)
    if fine then
        return result
    end
    return nil, type(result) == "table" and result.problem or "the body is not JSON"
end

-- The batch, or nothing and what is wrong with it.
function _M.parse(text)
    return parsed(parse, text)
end

-- The same of the numbers of slots.
function _M.parse_slots(text)
    return parsed(parse_slots, text)
end

return _M
