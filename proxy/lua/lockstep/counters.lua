-- Counters of each endpoint: requests, failures and the time of the last use. The control socket
-- returns them as sums over all workers.
local rows = require("lockstep.rows")

local _M = {}

local own

-- In every worker. The requests of a killed one have ended with it.
function _M.init_worker(highest_slot)
    own = rows.of_worker(ngx.worker.id() or 0)
    for slot = 0, highest_slot do
        own[slot].under_way = 0
    end
end

function _M.count_request(slot)
    local counter = own[slot]
    counter.requests = counter.requests + 1
    counter.last_used_ms = ngx.now() * 1000
end

-- For endpoints whose running requests are used for balancing.
function _M.begin(slot)
    own[slot].under_way = own[slot].under_way + 1
end

-- A slot that got another endpoint meanwhile counts from nothing again.
function _M.finish(slot)
    own[slot].under_way = math.max(own[slot].under_way - 1, 0)
end

function _M.count_failure(slot)
    local counter = own[slot]
    counter.failures = counter.failures + 1
    counter.last_used_ms = ngx.now() * 1000
end

-- Requests of this worker that the endpoint has not answered to the end.
function _M.under_way(slot)
    return own[slot].under_way
end

local function sums_of(slot, workers)
    local requests, failures, last_used_ms = 0, 0, 0
    for worker = 0, workers - 1 do
        local counter = rows.of_worker(worker)[slot]
        requests = requests + counter.requests
        failures = failures + counter.failures
        last_used_ms = math.max(last_used_ms, counter.last_used_ms)
    end
    return requests, failures, last_used_ms
end

-- The slots that were used since that time (0: ever), each with how long ago that was. `latencyMs`
-- is known of endpoints that are chosen by it.
function _M.read(highest_slot, since_ms, is_suspect)
    local workers = rows.workers()
    local now_ms = ngx.now() * 1000
    local used = {}
    for slot = 0, math.min(highest_slot, rows.SLOTS - 1) do
        local requests, failures, last_used_ms = sums_of(slot, workers)
        if requests > 0 and last_used_ms >= since_ms then
            local endpoint = rows.endpoints[slot]
            used[#used + 1] = {
                slot = rows.number_of(slot),
                requests = requests,
                failures = failures,
                lastUsedMsAgo = math.max(math.floor(now_ms - last_used_ms), 0),
                latencyMs = endpoint.measured_ms > 0 and endpoint.latency_ms or nil,
                suspect = is_suspect(slot),
            }
        end
    end
    return used
end

return _M
