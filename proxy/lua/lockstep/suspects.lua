-- Endpoints that just refused a connection or let it time out. A mark is seen by every worker at
-- once and ends by itself. Its twin is src/outputs/nginx/twin-suspects.ts.
local rows = require("lockstep.rows")

local meta = ngx.shared.lockstep_meta

local _M = {}

-- Long enough to spare many requests the connect timeout, short enough to try again soon.
_M.TTL_MS = 10000
-- More at once than can be probed while they last. Those that are told of get no more requests, so
-- their marks end and the others are told of next.
local MOST_LISTED = 1000

-- The age of a mark; nothing when there is none. A clock that jumps, either way, ends a mark rather
-- than prolonging it.
local function age_of(slot)
    local marked = rows.suspected_ms[slot]
    if marked == 0 then
        return nil
    end
    local age = ngx.now() * 1000 - marked
    return age >= 0 and age < _M.TTL_MS and age or nil
end

function _M.is_suspect(slot)
    return age_of(slot) ~= nil
end

-- How often a mark was set or taken back: who knows this number has missed none of it.
function _M.changes()
    return meta:get("suspect_changes")
end

function _M.mark(slot)
    if slot > 0 then
        rows.suspected_ms[slot] = ngx.now() * 1000
        meta:incr("suspect_changes", 1)
    end
end

function _M.clear(slot)
    if rows.suspected_ms[slot] ~= 0 then
        rows.suspected_ms[slot] = 0
        meta:incr("suspect_changes", 1)
    end
end

-- Those that are marked now, by slot: { slot, ageMs }.
function _M.list(highest_slot)
    local listed = {}
    for slot = 1, math.min(highest_slot, rows.SLOTS - 1) do
        local age = age_of(slot)
        if age ~= nil then
            listed[#listed + 1] = { slot = slot, ageMs = math.floor(age) }
        end
        if #listed == MOST_LISTED then
            break
        end
    end
    return listed
end

return _M
