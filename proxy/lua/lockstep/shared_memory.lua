-- Memory that the master and all workers share, zero at first. Untouched pages cost nothing.
local ffi = require("ffi")

ffi.cdef([[
void *mmap(void *addr, size_t length, int prot, int flags, int fd, long offset);
int munmap(void *addr, size_t length);
]])

local _M = {}

local PROT_READ_WRITE = 3
local MAP_SHARED_ANONYMOUS_NORESERVE = 0x4021

-- In the master, before the workers are forked. Nothing gives it back but `unmap`.
function _M.map(bytes)
    local address = ffi.C.mmap(nil, bytes, PROT_READ_WRITE, MAP_SHARED_ANONYMOUS_NORESERVE, -1, 0)
    if ffi.cast("intptr_t", address) == -1 then
        error("cannot map " .. bytes .. " bytes of shared memory")
    end
    return address
end

function _M.unmap(address, bytes)
    ffi.C.munmap(address, bytes)
end

return _M
