-- One row of numbers per endpoint slot, in memory that all workers share. Counters have a row for
-- each worker, written by it alone; suspect marks have one row for all, whose single aligned store
-- is atomic. So neither needs a lock, and a request pays nothing measurable.
local ffi = require("ffi")

ffi.cdef([[
void *mmap(void *addr, size_t length, int prot, int flags, int fd, long offset);
int munmap(void *addr, size_t length);
typedef struct { double requests; double failures; double last_used_ms; } lockstep_counter;
]])

local _M = {}

-- Slot 0 belongs to endpoints beyond this number: they are served but not counted.
_M.SLOTS = 131072
-- Pages that nobody touches cost nothing.
local MOST_WORKERS = 32

local PROT_READ_WRITE = 3
local MAP_SHARED_ANONYMOUS_NORESERVE = 0x4021

local function map(ctype, count)
    local bytes = ffi.sizeof(ctype) * count
    local address = ffi.C.mmap(nil, bytes, PROT_READ_WRITE, MAP_SHARED_ANONYMOUS_NORESERVE, -1, 0)
    if ffi.cast("intptr_t", address) == -1 then
        error("cannot map " .. bytes .. " bytes of shared memory")
    end
    -- A reload makes a new Lua state in the same master; the old rows go with the old one.
    address = ffi.gc(address, function(mapped)
        ffi.C.munmap(mapped, bytes)
    end)
    return address
end

-- In the master, before the workers are forked.
function _M.allocate()
    local counter = ffi.typeof("lockstep_counter")
    _M.counter_memory = map(counter, _M.SLOTS * MOST_WORKERS)
    _M.suspect_memory = map("double", _M.SLOTS)
    _M.counters = ffi.cast("lockstep_counter *", _M.counter_memory)
    _M.suspected_ms = ffi.cast("double *", _M.suspect_memory)
end

-- The row of this worker; workers beyond the rows share the last one and may lose a count.
function _M.of_worker(id)
    local row = math.min(id, MOST_WORKERS - 1)
    return _M.counters + row * _M.SLOTS
end

function _M.workers()
    return math.min(ngx.worker.count(), MOST_WORKERS)
end

-- Up to the highest slot in use: filling the rest would only take memory.
function _M.clear(highest_slot)
    local slots = highest_slot + 1
    ffi.fill(_M.suspected_ms, ffi.sizeof("double") * slots)
    for worker = 0, _M.workers() - 1 do
        ffi.fill(_M.of_worker(worker), ffi.sizeof("lockstep_counter") * slots)
    end
end

return _M
