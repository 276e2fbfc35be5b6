-- Changes to the state, one at a time. A change carries its boot id and the epoch of its pusher.
-- Another boot id means that nginx was restarted and knows nothing; an older epoch means that
-- another pusher is in charge now. Both are refused.
local cjson = require("cjson")
local rows = require("lockstep.rows")
local state = require("lockstep.state")
local suspects = require("lockstep.suspects")
local version = require("lockstep.version")

local dict = ngx.shared.lockstep_state
local certificate_dict = ngx.shared.lockstep_certificates
local meta = ngx.shared.lockstep_meta

local _M = {}

-- A worker killed while it holds the lock must not hold it for ever; no change takes this long.
local LOCK_SECONDS = 1
local LOCK_TRIES = 2000
-- Growing a value in a full dictionary loses the old one, so it must never run full. The reserve is
-- for present entries: the removal of an endpoint can always be written.
local RESERVE_BYTES = 4 * 1024 * 1024
local LAST_BYTES = 2 * 1024 * 1024
-- Removing goes on in small steps beside the traffic, after every worker has looked away.
local CLEAN_AFTER_SECONDS = 1
local CLEAN_STEP = 256

-- The first of all: no pusher is in charge of it, so it is only ever replaced.
local SAVED_GENERATION = 1

local function refusal(status, code, message)
    return { status = status, code = code, message = message }
end

-- Runs the change, which must not wait, and gives what it returns: a table, or a refusal.
function _M.locked(change)
    for _ = 1, LOCK_TRIES do
        if meta:safe_add("lock", true, LOCK_SECONDS) then
            local fine, result = pcall(change)
            meta:delete("lock")
            if fine then
                return result
            end
            ngx.log(ngx.ERR, "a change failed: ", result)
            return refusal(500, "FAILED", "the change failed; see the error log")
        end
        ngx.sleep(0.001)
    end
    return refusal(503, "BUSY", "another change is under way")
end

local function boot_refusal(boot)
    if boot ~= meta:get("boot") then
        return refusal(409, "BOOT", "this push is for another nginx process; a full load is needed")
    end
    return nil
end

local function announce(key)
    local next_version = version.get() + 1
    local set, problem = meta:safe_set("ring:" .. next_version % state.RING, key)
    if not set then
        error("the ring is out of memory: " .. problem)
    end
    version.set(next_version)
    return next_version
end

local CERTIFICATE = string.byte("c")

local function dict_of(key)
    return string.byte(key) == CERTIFICATE and certificate_dict or dict
end

local function is_full(place, key)
    local free = place:free_space()
    if free >= RESERVE_BYTES then
        return false
    end
    return free < LAST_BYTES or place:ttl(key) == nil
end

local function put(key, value)
    local place = dict_of(key)
    if is_full(place, key) then
        return refusal(507, "NO_MEMORY", "the shared memory is full")
    end
    -- Slashes need no escape, and paths and networks are full of them.
    local text = cjson.encode(value):gsub("\\/", "/")
    local set, problem = place:safe_set(key, text)
    if not set then
        return refusal(507, "NO_MEMORY", problem)
    end
    return nil
end

-- `after` is called for each key that changed.
local function apply(generation, batch, after)
    local function each(values, key_of, is_removal)
        for name, value in pairs(values) do
            if (value == cjson.null) == is_removal then
                local key = key_of(generation, name)
                local refused = nil
                if is_removal then
                    dict_of(key):delete(key)
                else
                    refused = put(key, value)
                end
                if refused ~= nil then
                    return refused
                end
                after(key)
            end
        end
        return nil
    end
    -- A host never refers to a service, users or a policy that is not there yet, or no longer; nor a
    -- name asked for in TLS to a certificate.
    return each(batch.services, state.service_key, false)
        or each(batch.certificates, state.certificate_key, false)
        or each(batch.users, state.users_key, false)
        or each(batch.policies, state.policy_key, false)
        or each(batch.hosts, state.host_key, false)
        or each(batch.server_names, state.server_name_key, false)
        or each(batch.hosts, state.host_key, true)
        or each(batch.server_names, state.server_name_key, true)
        or each(batch.services, state.service_key, true)
        or each(batch.certificates, state.certificate_key, true)
        or each(batch.users, state.users_key, true)
        or each(batch.policies, state.policy_key, true)
end

-- The slots that the services of a batch have; some may be those of endpoints that just joined.
local function take_slots(batch)
    local now_ms = ngx.now() * 1000
    local highest = meta:get("highest_slot")
    for _, numbers in ipairs(batch.slots) do
        for _, number in ipairs(numbers) do
            highest = math.max(highest, rows.take(number, now_ms))
        end
    end
    meta:safe_set("highest_slot", highest)
end

-- A pusher takes charge, or stays in charge, by beginning a full load.
function _M.begin(pusher)
    local refused = boot_refusal(pusher.boot)
    if refused ~= nil then
        return refused
    end
    local epoch, owner = meta:get("epoch"), meta:get("owner")
    if pusher.epoch < epoch or (pusher.epoch == epoch and pusher.owner ~= owner) then
        return refusal(409, "EPOCH", "a newer pusher is in charge")
    end
    if pusher.epoch > epoch then
        -- Slots mean other endpoints to another pusher.
        rows.clear(meta:get("highest_slot"))
        meta:incr("suspect_changes", 1)
        meta:safe_set("highest_slot", 0)
        meta:safe_set("owner", pusher.owner)
        meta:safe_set("epoch", pusher.epoch)
    end
    return { generation = meta:incr("last_generation", 1) }
end

local function pusher_refusal(pusher)
    local refused = boot_refusal(pusher.boot)
    if refused ~= nil then
        return refused
    end
    if pusher.epoch ~= meta:get("epoch") or pusher.owner ~= meta:get("owner") then
        return refusal(409, "EPOCH", "another pusher controls this nginx")
    end
    return nil
end

local function load_refusal(pusher, generation)
    local refused = pusher_refusal(pusher)
    if refused == nil and generation ~= meta:get("last_generation") then
        refused = refusal(409, "LOAD", "another load has begun since")
    end
    return refused
end

local function nothing() end

local function generation_of(key)
    return tonumber(key:match("^[hscnup]:(%d+):"))
end

local function all_keys()
    local keys = dict:get_keys(0)
    for _, key in ipairs(certificate_dict:get_keys(0)) do
        keys[#keys + 1] = key
    end
    return keys
end

-- Loads may follow each other faster than what they replace is removed. When memory is short, what
-- is over goes at once; but not what was seen until the last commit, for a request may look at it.
local function make_room()
    local kept = {}
    for _, name in ipairs({ "generation", "previous_generation", "last_generation" }) do
        kept[meta:get(name)] = true
    end
    for _, key in ipairs(all_keys()) do
        local generation = generation_of(key)
        if generation ~= nil and not kept[generation] then
            dict_of(key):delete(key)
        end
    end
end

-- One part of a load: not seen by any request yet.
function _M.load_part(pusher, generation, batch)
    local refused = load_refusal(pusher, generation)
    if refused == nil and generation == meta:get("generation") then
        refused = refusal(409, "LOAD", "this load is complete")
    end
    refused = refused or apply(generation, batch, nothing)
    if refused ~= nil and refused.code == "NO_MEMORY" then
        make_room()
        refused = apply(generation, batch, nothing)
    end
    if refused ~= nil then
        return refused
    end
    take_slots(batch)
    return {}
end

-- Listing all keys holds up the others for some milliseconds, once for each load.
local function clean(premature, newest)
    if premature then
        return
    end
    local removed = 0
    for _, key in ipairs(all_keys()) do
        local generation = generation_of(key)
        if generation ~= nil and generation < newest then
            dict_of(key):delete(key)
            removed = removed + 1
            if removed % CLEAN_STEP == 0 then
                ngx.sleep(0)
            end
        end
    end
end

-- Everything of the load is seen at once, and what it does not hold is gone.
function _M.commit(pusher, generation)
    local refused = load_refusal(pusher, generation)
    if refused ~= nil then
        return refused
    end
    meta:safe_set("previous_generation", meta:get("generation"))
    meta:safe_set("generation", generation)
    local committed = announce(state.ALL)
    local started, problem = ngx.timer.at(CLEAN_AFTER_SECONDS, clean, generation)
    if not started then
        ngx.log(ngx.ERR, "the last load is not removed before the next: ", problem)
    end
    return { generation = generation, version = committed }
end

-- One entry of the saved state, in the master before any request or push.
function _M.restore(values)
    -- First, or a load would go on with what a failed restoration has left.
    meta:safe_set("last_generation", SAVED_GENERATION)
    if apply(SAVED_GENERATION, values, nothing) ~= nil then
        return false
    end
    take_slots(values)
    return true
end

-- Every worker that starts uses the restored state.
function _M.restored()
    meta:safe_set("generation", SAVED_GENERATION)
    announce(state.ALL)
end

-- Endpoints that answered a probe, by the numbers of their slots.
function _M.end_marks(pusher, numbers)
    local refused = pusher_refusal(pusher)
    if refused ~= nil then
        return refused
    end
    for _, number in ipairs(numbers) do
        local slot = number % rows.SLOTS
        -- The slot may have passed to another endpoint meanwhile.
        if rows.number_of(slot) == number then
            suspects.end_mark(slot)
        end
    end
    return {}
end

-- Changes of single hosts and services within the generation that is seen.
function _M.change(pusher, batch)
    local refused = pusher_refusal(pusher)
    local generation = meta:get("generation")
    if refused == nil and generation == 0 then
        refused = refusal(409, "LOAD", "nothing was loaded yet")
    end
    refused = refused or apply(generation, batch, announce)
    if refused ~= nil then
        return refused
    end
    take_slots(batch)
    return { version = version.get() }
end

return _M
