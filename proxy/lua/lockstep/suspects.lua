-- Endpoints that just refused a connection or let it time out. A mark is seen by every worker at
-- once and ends by itself; then one request tries the endpoint, and the others follow once it was
-- answered. Its twin is src/outputs/nginx/twin-suspects.ts.
local rows = require("lockstep.rows")

local meta = ngx.shared.lockstep_meta

local _M = {}

-- Long enough to spare many requests the connect timeout, short enough to try again soon.
_M.TTL_MS = 10000
-- How long the others wait for the one that tries: longer than it takes to connect.
local TRIAL_MS = 2000
-- More at once than can be probed while they last. Those that are told of get no more requests, so
-- their marks end and the others are told of next.
local MOST_LISTED = 1000

-- The age of a mark; nothing when there is none. A clock that jumps, either way, ends a mark rather
-- than prolonging it.
local function age_of(slot)
    local marked = rows.endpoints[slot].suspected_ms
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
        rows.endpoints[slot].suspected_ms = ngx.now() * 1000
        meta:incr("suspect_changes", 1)
    end
end

-- For every endpoint that gets a request: the first whose mark has ended marks it anew for a while.
function _M.try(slot)
    local endpoint = rows.endpoints[slot]
    if endpoint.suspected_ms ~= 0 and age_of(slot) == nil then
        endpoint.suspected_ms = ngx.now() * 1000 - _M.TTL_MS + TRIAL_MS
    end
end

-- Whether there is a mark, though it may have ended.
function _M.is_marked(slot)
    return rows.endpoints[slot].suspected_ms ~= 0
end

function _M.clear(slot)
    if _M.is_marked(slot) then
        rows.endpoints[slot].suspected_ms = 0
        meta:incr("suspect_changes", 1)
    end
end

-- Those that are marked now, by slot: { slot, ageMs }.
function _M.list(highest_slot)
    local listed = {}
    for slot = 1, math.min(highest_slot, rows.SLOTS - 1) do
        local age = age_of(slot)
        if age ~= nil then
            listed[#listed + 1] = { slot = rows.number_of(slot), ageMs = math.floor(age) }
        end
        if #listed == MOST_LISTED then
            break
        end
    end
    return listed
end

return _M
