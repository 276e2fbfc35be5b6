-- What each endpoint did: requests sent to it, failures of it, when it was last used. Readable over
-- the control socket as sums over all workers.
local rows = require("lockstep.rows")

local _M = {}

local function own_row()
    local row = _M.row
    if row == nil then
        row = rows.of_worker(ngx.worker.id() or 0)
        _M.row = row
    end
    return row
end

function _M.count_request(slot)
    local counter = own_row()[slot]
    counter.requests = counter.requests + 1
    counter.last_used_ms = ngx.now() * 1000
end

function _M.count_failure(slot)
    local counter = own_row()[slot]
    counter.failures = counter.failures + 1
end

-- The slots that were ever used: { slot, requests, failures, last used, suspect }.
function _M.read(highest_slot, is_suspect)
    local workers = rows.workers()
    local used = {}
    for slot = 0, math.min(highest_slot, rows.SLOTS - 1) do
        local requests, failures, last_used_ms = 0, 0, 0
        for worker = 0, workers - 1 do
            local counter = rows.of_worker(worker)[slot]
            requests = requests + counter.requests
            failures = failures + counter.failures
            last_used_ms = math.max(last_used_ms, counter.last_used_ms)
        end
        if requests > 0 then
            used[#used + 1] = {
                slot = slot,
                requests = requests,
                failures = failures,
                lastUsedMs = math.floor(last_used_ms),
                suspect = is_suspect(slot),
            }
        end
    end
    return used
end

return _M
