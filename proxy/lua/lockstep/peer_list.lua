-- A service as a worker keeps it. The facts that a request needs of its endpoints are in one piece
-- of memory, `peers`: with thousands of services a dozen tables and strings for each would never be
-- in the processor's cache, and the garbage collector would look at all of them again and again.
-- The lists that balance.lua and others use are made for services that need them.
local balance = require("lockstep.balance")
local ffi = require("ffi")

ffi.cdef([[
typedef struct {
    uint32_t slot;
    uint16_t port;
    uint16_t address_length;
    uint32_t name_end;
    unsigned char address[48];
} lockstep_peer;
typedef struct {
    double cursor;        // where round robin stands
    uint32_t count;
    uint32_t in_turn;     // so many, from the first, simply take turns while none is suspect
    bool is_stale;        // the service has changed or is gone
    bool is_measured;     // the number of running requests is used
    bool is_ipv6;         // the addresses; of the first one where they are mixed
    bool is_mixed;        // of IPv4 and IPv6
    lockstep_peer at[?];
} lockstep_peers;
]])

local _M = {}

-- An IPv6 address begins with it.
local BRACKET = string.byte("[")

local function in_turn(tiers, weights)
    if weights ~= nil then
        return 0
    end
    for _, count in ipairs(tiers) do
        if count > 0 then
            return count
        end
    end
    return 0
end

local function fill(peer, address, port, slot, name_end)
    peer.address_length = #address
    ffi.copy(peer.address, address, #address)
    peer.port = port
    peer.slot = slot
    peer.name_end = name_end
end

local function peers_of(decoded, cursor)
    local count = #decoded.addresses
    local peers = ffi.new("lockstep_peers", count)
    peers.cursor = cursor
    peers.count = count
    peers.in_turn = in_turn(decoded.tiers, decoded.weights)
    local name_end = 0
    for index = 1, count do
        name_end = name_end + #decoded.names[index]
        local address, port = decoded.addresses[index], decoded.ports[index]
        fill(peers.at[index - 1], address, port, decoded.slots[index], name_end)
        local is_ipv6 = string.byte(address) == BRACKET
        peers.is_ipv6 = index == 1 and is_ipv6 or peers.is_ipv6
        peers.is_mixed = peers.is_mixed or is_ipv6 ~= peers.is_ipv6
    end
    return peers
end

-- From the service as it was pushed (service_entry.lua).
function _M.pack(name, decoded, cursor)
    return {
        name = name,
        -- Its namespace.
        owner = string.match(name, "^([^/]*)/") or "",
        peers = peers_of(decoded, cursor),
        -- As one string: hundreds of thousands would slow down the search for every other.
        all_names = table.concat(decoded.names),
        tiers = #decoded.tiers > 1 and decoded.tiers or nil,
        weights = decoded.weights,
    }
end

-- The same service with the data of all picks except the ordinary one.
function _M.unpacked(service)
    if service.slots == nil then
        local peers = service.peers
        service.slots = {}
        for index = 1, peers.count do
            service.slots[index] = peers.at[index - 1].slot
        end
        service.tiers = service.tiers or { peers.count }
        balance.prepare(service)
    end
    return service
end

function _M.name(service, index)
    local peers = service.peers
    local before = index > 1 and peers.at[index - 2].name_end or 0
    return string.sub(service.all_names, before + 1, peers.at[index - 1].name_end)
end

-- All of them, for those who find endpoints by their names.
function _M.names(service)
    local names = service.names
    if names == nil then
        names = {}
        for index = 1, service.peers.count do
            names[index] = _M.name(service, index)
        end
        service.names = names
    end
    return names
end

-- The same for two endpoints only where both have the same address and port.
function _M.key(peers, index)
    local peer = peers.at[index - 1]
    return ffi.string(peer.address, peer.address_length) .. ":" .. peer.port
end

return _M
