-- The control socket's small HTTP interface. Everything that changes names the boot id, the epoch
-- and the owner in headers; answers are JSON, a refusal has a stable code.
--
--   GET  /state              who answers, what is loaded
--   GET  /hold               an answer that ends when this worker does
--   GET  /counters?since=MS  what each endpoint slot did, of those used since then (nowMs)
--   GET  /suspects?after=N   which slots are suspect; waits while there is no change after the N-th
--   POST /loads              begin a full load            → { generation }
--   PUT  /loads/N            a part of it
--   POST /loads/N/commit     make it visible as a whole
--   PUT  /changes            single hosts and services; null removes
--   PUT  /answered           slots whose endpoints answered a probe: they are suspect no more
local batch = require("lockstep.batch")
local cjson = require("cjson")
local counters = require("lockstep.counters")
local process = require("ngx.process")
local state = require("lockstep.state")
local suspects = require("lockstep.suspects")
local version = require("lockstep.version")
local writer = require("lockstep.writer")

local meta = ngx.shared.lockstep_meta

local _M = {}

-- How soon a worker that was asked to go lets go of those who watch it.
local HOLD_CHECK_SECONDS = 0.2

-- The longest wait for a change of suspects; while there are any, until the last mark has ended.
local MOST_WAIT_SECONDS = 60

local function answer(status, body)
    ngx.status = status
    ngx.header.content_type = "application/json"
    local text = cjson.encode(body)
    ngx.header.content_length = #text
    ngx.print(text)
    return ngx.exit(ngx.OK)
end

local function answer_change(result)
    if result.status ~= nil then
        return answer(result.status, { code = result.code, message = result.message })
    end
    return answer(200, result)
end

local function get_state()
    return answer(200, {
        bootId = meta:get("boot"),
        run = ngx.var.lockstep_run,
        generation = meta:get("generation"),
        version = version.get(),
        epoch = meta:get("epoch"),
        owner = meta:get("owner"),
        masterPid = process.get_master_pid(),
        workerPids = state.worker_pids(),
    })
end

local function get_counters()
    local since_ms = tonumber(ngx.var.arg_since) or 0
    local used = counters.read(meta:get("highest_slot"), since_ms, suspects.is_suspect)
    return answer(200, {
        bootId = meta:get("boot"),
        owner = meta:get("owner"),
        nowMs = math.floor(ngx.now() * 1000),
        -- An empty Lua table would be an object.
        counters = #used > 0 and used or cjson.null,
    })
end

-- Waits for so long, while `goes_on` says so, the client is there and this worker may stay.
local function wait(seconds, goes_on)
    local gone = false
    ngx.on_abort(function()
        gone = true
        ngx.exit(499)
    end)
    local waited = 0
    while goes_on() and waited < seconds and not gone and not ngx.worker.exiting() do
        ngx.sleep(HOLD_CHECK_SECONDS)
        waited = waited + HOLD_CHECK_SECONDS
    end
end

local function hold()
    ngx.header.content_type = "text/plain"
    ngx.send_headers()
    ngx.flush(true)
    wait(math.huge, function()
        return true
    end)
end

local function get_suspects()
    local after = tonumber(ngx.var.arg_after)
    local some = #suspects.list(meta:get("highest_slot")) > 0
    wait(some and suspects.TTL_MS / 1000 or MOST_WAIT_SECONDS, function()
        return suspects.changes() == after
    end)
    -- Counted before they are listed: a change in between is sent twice rather than never.
    local changes = suspects.changes()
    local listed = suspects.list(meta:get("highest_slot"))
    return answer(200, {
        owner = meta:get("owner"),
        changes = changes,
        suspects = #listed > 0 and listed or cjson.null,
    })
end

local function pusher_of(headers)
    local boot, owner = headers["x-lockstep-boot"], headers["x-lockstep-owner"]
    local epoch = headers["x-lockstep-epoch"]
    if type(boot) ~= "string" or type(owner) ~= "string" or type(epoch) ~= "string" then
        return nil
    end
    -- Of at most 15 digits: exact, and always to be outdone.
    epoch = #epoch <= 15 and tonumber(epoch:match("^%d+$"))
    return epoch and { boot = boot, owner = owner, epoch = epoch } or nil
end

-- Calls `use` with the pusher and the body as `parse` checks it.
local function with_body(parse, use)
    local pusher = pusher_of(ngx.req.get_headers())
    ngx.req.read_body()
    local values, problem = parse(ngx.req.get_body_data() or "")
    if pusher == nil or values == nil then
        local message = problem or "the pusher's headers are missing"
        return answer(400, { code = "MALFORMED", message = message })
    end
    return answer_change(writer.locked(function()
        return use(pusher, values)
    end))
end

local function without_body(use)
    local pusher = pusher_of(ngx.req.get_headers())
    ngx.req.discard_body()
    if pusher == nil then
        return answer(400, { code = "MALFORMED", message = "the pusher's headers are missing" })
    end
    return answer_change(writer.locked(function()
        return use(pusher)
    end))
end

local fixed = {
    ["GET /state"] = get_state,
    ["GET /hold"] = hold,
    ["GET /counters"] = get_counters,
    ["GET /suspects"] = get_suspects,
    ["POST /loads"] = function()
        return without_body(writer.begin)
    end,
    ["PUT /changes"] = function()
        return with_body(batch.parse, writer.change)
    end,
    ["PUT /answered"] = function()
        return with_body(batch.parse_slots, writer.end_marks)
    end,
}

function _M.handle()
    local what = ngx.req.get_method() .. " " .. ngx.var.uri
    if fixed[what] ~= nil then
        return fixed[what]()
    end
    local generation = tonumber(what:match("^PUT /loads/(%d+)$"))
    if generation ~= nil then
        return with_body(batch.parse, function(pusher, values)
            return writer.load_part(pusher, generation, values)
        end)
    end
    generation = tonumber(what:match("^POST /loads/(%d+)/commit$"))
    if generation ~= nil then
        return without_body(function(pusher)
            return writer.commit(pusher, generation)
        end)
    end
    return answer(404, { code = "UNKNOWN", message = "no such request" })
end

return _M
