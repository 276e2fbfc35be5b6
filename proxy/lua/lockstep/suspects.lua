-- Endpoints that just refused a connection or let it time out. A mark is seen by every worker at
-- once and ends by itself, or when Lockstep reports that a probe was answered; then one request tries the
-- endpoint, and the others follow once it was answered. If its connection breaks, the next request tries.
-- Its twin is src/outputs/nginx/twin-suspects.ts.
--
-- Invariant: while an endpoint has a mark, `rows.marked` is not 0. Nearly always it is 0, and then no
-- request looks at the endpoints' rows, which with many of them are not in the processor's cache.
local rows = require("lockstep.rows")

local meta = ngx.shared.lockstep_meta

local _M = {}

-- Long enough to spare many requests the connect timeout, short enough to try again soon.
_M.TTL_MS = 10000
-- How long the others wait for the one that tries: longer than it takes to connect.
local TRIAL_MS = 2000
-- The endpoint has not been tried for so long: it has left, or gets no requests.
local FORGOTTEN_MS = 60000
-- Some are more than can be probed while they last. Those that are listed get no more requests, so
-- their marks end and the others are listed next. A namespace may have as many as are left: one alone
-- gets half of them.
local MOST_LISTED = 2000

-- Whether there is a mark, though it may have ended.
function _M.is_marked(slot)
    return rows.marked[0] ~= 0 and rows.endpoints[slot].suspected_ms ~= 0
end

-- The age of a mark; nothing when there is none. A clock that jumps, either way, ends a mark rather
-- than prolonging it.
local function age_of(slot)
    if not _M.is_marked(slot) then
        return nil
    end
    local age = ngx.now() * 1000 - rows.endpoints[slot].suspected_ms
    return age >= 0 and age < _M.TTL_MS and age or nil
end

function _M.is_suspect(slot)
    return age_of(slot) ~= nil
end

-- How often a mark was set or taken back: who knows this number has missed none of it.
function _M.changes()
    return meta:get("suspect_changes")
end

-- The mark comes first (see notice_last_left).
local function set_mark(slot, suspected_ms)
    rows.endpoints[slot].suspected_ms = suspected_ms
    rows.marked[0] = 1
end

-- The owner is the namespace of the service whose request did not reach the endpoint.
function _M.mark(slot, owner)
    if slot > 0 then
        rows.endpoints[slot].suspected_of = ngx.crc32_short(owner)
        set_mark(slot, ngx.now() * 1000)
        meta:incr("suspect_changes", 1)
    end
end

-- For every endpoint that gets a request: the first one after the end of a mark sets it again for a
-- while.
function _M.try(slot)
    if _M.is_marked(slot) and age_of(slot) == nil then
        set_mark(slot, ngx.now() * 1000 - _M.TTL_MS + TRIAL_MS)
    end
end

-- A connection to the endpoint broke: often one that was kept from the time before the mark, which the
-- endpoint's machine no longer knows. So it can be reached, and the next request tries it.
function _M.end_trial(slot)
    local age = age_of(slot)
    if age ~= nil and age >= _M.TTL_MS - TRIAL_MS then
        set_mark(slot, ngx.now() * 1000 - _M.TTL_MS)
    end
end

function _M.clear(slot)
    if _M.is_marked(slot) then
        rows.endpoints[slot].suspected_ms = 0
        meta:incr("suspect_changes", 1)
    end
end

-- The endpoint answered a probe: its mark ends now, and the next request tries it.
function _M.end_mark(slot)
    if age_of(slot) ~= nil then
        rows.endpoints[slot].suspected_ms = ngx.now() * 1000 - _M.TTL_MS
        meta:incr("suspect_changes", 1)
    end
end

-- Whether any endpoint has a mark. Takes back those that are long forgotten.
local function has_marks(highest_slot)
    local now_ms, some = ngx.now() * 1000, false
    for slot = 1, math.min(highest_slot, rows.SLOTS - 1) do
        local endpoint = rows.endpoints[slot]
        if endpoint.suspected_ms ~= 0 then
            if math.abs(now_ms - endpoint.suspected_ms) > FORGOTTEN_MS then
                endpoint.suspected_ms = 0
            else
                some = true
            end
        end
    end
    return some
end

-- Another worker may set a mark meanwhile: either the second look finds it, or it comes after that.
local function notice_last_left(highest_slot)
    if rows.marked[0] ~= 0 and not has_marks(highest_slot) then
        rows.marked[0] = 0
        if has_marks(highest_slot) then
            rows.marked[0] = 1
        end
    end
end

-- Those that are marked now, by slot: { slot, ageMs }. Lockstep asks for them at least once a minute.
function _M.list(highest_slot)
    notice_last_left(highest_slot)
    local listed, counts = {}, {}
    local last = rows.marked[0] ~= 0 and math.min(highest_slot, rows.SLOTS - 1) or 0
    for slot = 1, last do
        local age = age_of(slot)
        local owner = rows.endpoints[slot].suspected_of
        local count = counts[owner] or 0
        if age ~= nil and count < MOST_LISTED - #listed then
            listed[#listed + 1] = { slot = rows.number_of(slot), ageMs = math.floor(age) }
            counts[owner] = count + 1
        end
    end
    return listed
end

return _M
