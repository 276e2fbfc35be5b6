-- A monotonic clock, the same in every worker: for times that must not change when the machine's
-- clock is corrected.
local ffi = require("ffi")

ffi.cdef([[
typedef struct { long seconds; long nanoseconds; } lockstep_time;
int clock_gettime(int clock, lockstep_time *time);
]])

local CLOCK_MONOTONIC = 1
local time = ffi.new("lockstep_time")

local _M = {}

-- In seconds, with their fraction. Only differences mean something.
function _M.now()
    ffi.C.clock_gettime(CLOCK_MONOTONIC, time)
    return tonumber(time.seconds) + tonumber(time.nanoseconds) / 1e9
end

return _M
