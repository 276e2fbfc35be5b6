-- Sets of networks, as allowFrom lists them. Addresses are strings of 4 or 16 bytes, the form in
-- which nginx gives the client's; a set is asked once for each length of prefix that it has,
-- however many networks it holds.
local bit = require("bit")
local ffi = require("ffi")

ffi.cdef([[
int inet_pton(int family, const char *text, void *address);
]])

local _M = {}

local families = { { number = 2, bytes = 4 }, { number = 10, bytes = 16 } }
local buffer = ffi.new("unsigned char[16]")
-- Before the bytes of an IPv4 address that is written as an IPv6 one.
local MAPPED = string.rep("\0", 10) .. "\255\255"

-- The bytes of an address, or nothing.
local function bytes_of(text)
    for _, family in ipairs(families) do
        if ffi.C.inet_pton(family.number, text, buffer) == 1 then
            return ffi.string(buffer, family.bytes)
        end
    end
    return nil
end

local function prefix_of(address, length)
    local whole = math.floor(length / 8)
    local rest = length - whole * 8
    if rest == 0 then
        return string.sub(address, 1, whole)
    end
    local mask = bit.band(bit.lshift(255, 8 - rest), 255)
    local last = bit.band(string.byte(address, whole + 1), mask)
    return string.sub(address, 1, whole) .. string.char(last)
end

-- The bytes and the length of "10.0.0.0/8" or of an address alone; nothing when it is neither.
function _M.parse(text)
    local head, length = text:match("^([%x.:]+)/(%d%d?%d?)$")
    local address = bytes_of(head or text)
    if address == nil then
        return nil
    end
    length = tonumber(length) or #address * 8
    if length > #address * 8 then
        return nil
    end
    return address, length
end

-- Of texts that `parse` takes.
function _M.set(texts)
    local set = { [4] = {}, [16] = {} }
    local known = {}
    for _, text in ipairs(texts) do
        local address, length = _M.parse(text)
        local lengths = set[#address]
        local key = #address .. "/" .. length
        if known[key] == nil then
            known[key] = { length = length, prefixes = {} }
            lengths[#lengths + 1] = known[key]
        end
        known[key].prefixes[prefix_of(address, length)] = true
    end
    return set
end

-- "::ffff:10.0.0.1" comes from where 10.0.0.1 comes from.
function _M.unmapped(address)
    if #address == 16 and string.sub(address, 1, 12) == MAPPED then
        return string.sub(address, 13)
    end
    return address
end

local function is_among(lengths, address)
    for index = 1, #lengths do
        local entry = lengths[index]
        if entry.prefixes[prefix_of(address, entry.length)] then
            return true
        end
    end
    return false
end

function _M.contains(set, address)
    local plain = _M.unmapped(address)
    if plain ~= address and is_among(set[#plain], plain) then
        return true
    end
    local lengths = set[#address]
    return lengths ~= nil and is_among(lengths, address)
end

return _M
