-- One row of numbers per endpoint slot, in memory that all workers share. Counters have a row for
-- each worker, written by it alone; everything else has one row for all, in which each number is
-- stored by a single aligned write and so is never half of one and half of another. Nothing needs a
-- lock, and a request pays nothing measurable.
local ffi = require("ffi")
local shared_memory = require("lockstep.shared_memory")

ffi.cdef([[
typedef struct {
    double requests;
    double under_way;
    double failures;
    double last_used_ms;
} lockstep_counter;
typedef struct {
    double round;
    double joined_ms;
    double suspected_ms;
    double suspected_of;
    double latency_ms;
    double measured_ms;
} lockstep_endpoint;
]])

local _M = {}

-- Slot 0 belongs to endpoints beyond this number: they are served but not counted.
_M.SLOTS = 131072
local MOST_WORKERS = 32

local function map(ctype, count)
    local bytes = ffi.sizeof(ctype) * count
    -- A reload makes a new Lua state in the same master; the old rows go with the old one.
    return ffi.gc(shared_memory.map(bytes), function(mapped)
        shared_memory.unmap(mapped, bytes)
    end)
end

-- In the master, before the workers are forked.
function _M.allocate()
    _M.counter_memory = map("lockstep_counter", _M.SLOTS * MOST_WORKERS)
    _M.endpoint_memory = map("lockstep_endpoint", _M.SLOTS)
    _M.marked_memory = map("double", 1)
    _M.counters = ffi.cast("lockstep_counter *", _M.counter_memory)
    _M.endpoints = ffi.cast("lockstep_endpoint *", _M.endpoint_memory)
    -- Whether any endpoint is suspect (see suspects.lua).
    _M.marked = ffi.cast("double *", _M.marked_memory)
end

-- The row of this worker; workers beyond the rows share the last one and may lose a count.
function _M.of_worker(id)
    local row = math.min(id, MOST_WORKERS - 1)
    return _M.counters + row * _M.SLOTS
end

function _M.workers()
    return math.min(ngx.worker.count(), MOST_WORKERS)
end

local function clear(first, count)
    ffi.fill(_M.endpoints + first, ffi.sizeof("lockstep_endpoint") * count)
    for worker = 0, _M.workers() - 1 do
        ffi.fill(_M.of_worker(worker) + first, ffi.sizeof("lockstep_counter") * count)
    end
end

-- Up to the highest slot in use: filling the rest would only take memory.
function _M.clear(highest_slot)
    clear(0, highest_slot + 1)
end

-- A pusher counts a slot up by SLOTS each time it gives it to another endpoint: the row stays the
-- same, and what was learnt of the one before is forgotten. `now_ms` is when the endpoint joined.
-- Gives the row's slot.
function _M.take(number, now_ms)
    local slot = number % _M.SLOTS
    local round = (number - slot) / _M.SLOTS + 1
    if slot > 0 and _M.endpoints[slot].round ~= round then
        clear(slot, 1)
        _M.endpoints[slot].joined_ms = now_ms
        _M.endpoints[slot].round = round
    end
    return slot
end

-- The number under which a pusher knows the slot.
function _M.number_of(slot)
    return slot + math.max(_M.endpoints[slot].round - 1, 0) * _M.SLOTS
end

return _M
