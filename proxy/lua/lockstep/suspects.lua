-- Endpoints that just refused a connection or let it time out. A mark is seen by every worker at
-- once and ends by itself.
local rows = require("lockstep.rows")

local _M = {}

-- Long enough to spare many requests the connect timeout, short enough to try again soon.
_M.TTL_MS = 10000

-- A clock that jumps, either way, ends a mark rather than prolonging it.
function _M.is_suspect(slot)
    local marked = rows.suspected_ms[slot]
    if marked == 0 then
        return false
    end
    local age = ngx.now() * 1000 - marked
    return age >= 0 and age < _M.TTL_MS
end

function _M.mark(slot)
    if slot > 0 then
        rows.suspected_ms[slot] = ngx.now() * 1000
    end
end

function _M.clear(slot)
    if rows.suspected_ms[slot] ~= 0 then
        rows.suspected_ms[slot] = 0
    end
end

return _M
