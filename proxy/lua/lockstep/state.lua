-- The pushed state: one key in shared memory per host and per service, under the generation of the
-- full load that brought it. Every worker decodes a key when it first needs it; one global version
-- and a ring of changed keys tell it what to forget, so that each request sees the last push.
--
-- Invariant: a value is in place before the version that announces it. Only the holder of the lock
-- (see writer.lua) writes.
local cjson = require("cjson")
local route = require("lockstep.route")

local dict = ngx.shared.lockstep_state
local meta = ngx.shared.lockstep_meta

local _M = { generation = 0 }

-- A worker further behind than this forgets everything it decoded.
_M.RING = 4096
-- In place of a key: everything changed.
_M.ALL = "*"

local hosts, services = {}, {}
local seen = 0

function _M.host_key(generation, name)
    return "h:" .. generation .. ":" .. name
end

function _M.service_key(generation, name)
    return "s:" .. generation .. ":" .. name
end

-- In the master. The dictionaries survive a reload, so the boot id changes only with a new nginx.
function _M.init(boot_id)
    meta:safe_add("boot", boot_id)
    meta:safe_add("version", 0)
    meta:safe_add("generation", 0)
    meta:safe_add("previous_generation", 0)
    meta:safe_add("last_generation", 0)
    meta:safe_add("epoch", 0)
    meta:safe_add("owner", "")
    meta:safe_add("highest_slot", 0)
    meta:safe_add("suspect_changes", 0)
end

function _M.register_worker()
    local id = ngx.worker.id()
    if id ~= nil then
        meta:safe_set("worker:" .. id, ngx.worker.pid())
    end
end

function _M.worker_pids()
    local pids = {}
    for id = 0, ngx.worker.count() - 1 do
        pids[#pids + 1] = meta:get("worker:" .. id)
    end
    return pids
end

local function forget_all()
    hosts, services = {}, {}
end

local function forget(from, to)
    for version = from, to do
        local key = meta:get("ring:" .. version % _M.RING)
        if key == nil or key == _M.ALL then
            forget_all()
            return
        end
        hosts[key] = nil
        services[key] = nil
    end
end

-- Once at the start of a request, before anything is looked up.
function _M.refresh()
    local version = meta:get("version")
    if version == seen then
        return
    end
    if version - seen > _M.RING then
        forget_all()
    else
        forget(seen + 1, version)
        -- The ring may have come round while we read it.
        if meta:get("version") - seen > _M.RING then
            forget_all()
        end
    end
    seen = version
    _M.generation = meta:get("generation")
end

-- The compiled rules of a host, or nothing. What is unknown is not remembered: clients can think of
-- more names than memory holds.
function _M.host(name)
    local key = _M.host_key(_M.generation, name)
    local host = hosts[key]
    if host == nil then
        local text = dict:get(key)
        if text == nil then
            return nil
        end
        host = route.compile(cjson.decode(text))
        hosts[key] = host
    end
    return host
end

function _M.service(name)
    local key = _M.service_key(_M.generation, name)
    local service = services[key]
    if service == nil then
        local text = dict:get(key)
        if text == nil then
            return nil
        end
        service = cjson.decode(text)
        services[key] = service
    end
    return service
end

return _M
