-- The version of the pushed state: one number in memory that all workers share. Every request reads
-- it, so it takes no lock: it is written by a single aligned store, and never half of one and half of
-- another.
--
-- Invariant: there is one such number in the life of the master. A reload makes a new Lua state while
-- workers of the old one still serve, and both go by the same number: its place is kept in a dictionary,
-- which outlives the reload.
local ffi = require("ffi")
local shared_memory = require("lockstep.shared_memory")

local meta = ngx.shared.lockstep_meta

local _M = {}

local PAGE_BYTES = 4096

local number

-- In the master, before the workers are forked.
function _M.allocate()
    local address = meta:get("version_address")
    if address == nil then
        address = tonumber(ffi.cast("uintptr_t", shared_memory.map(PAGE_BYTES)))
        meta:safe_add("version_address", address)
    end
    number = ffi.cast("volatile double *", ffi.cast("uintptr_t", address))
end

function _M.get()
    return number[0]
end

function _M.set(version)
    number[0] = version
end

return _M
