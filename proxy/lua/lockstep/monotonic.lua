-- Time on a clock that is never set, the same in every worker: for what must end neither sooner nor
-- later because somebody corrects the time of the machine.
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
