-- Runs once in the master before the sockets open, and once in every worker. All modules are loaded
-- here, so a worker that may not read the disk can still serve.
local ffi = require("ffi")

ffi.cdef([[
int chmod(const char *path, unsigned int mode);
unsigned int geteuid(void);
]])

local private = tonumber("700", 8)
local own = tonumber("600", 8)
local passable = tonumber("711", 8)

local _M = {}

local function random_id()
    local source = assert(io.open("/dev/urandom", "rb"))
    local bytes = source:read(16)
    source:close()
    return (bytes:gsub(".", function(byte)
        return string.format("%02x", string.byte(byte))
    end))
end

local function change_mode(path, mode)
    if ffi.C.chmod(path, mode) ~= 0 then
        error("cannot set the mode of " .. path .. "; does the folder belong to this user?")
    end
end

-- The dictionaries survive a reload, and with them a state that is newer than any file.
local function restore(prefix)
    if ngx.shared.lockstep_meta:get("last_generation") > 0 then
        return
    end
    local fine, problem = pcall(require("lockstep.snapshot").load, prefix .. "state/snapshot.jsonl")
    if not fine then
        ngx.log(ngx.ERR, "the saved state is not used: ", problem)
    end
    collectgarbage()
end

function _M.init()
    require("resty.core")
    local prefix = ngx.config.prefix()
    -- nginx makes its unix sockets accessible to every user; the folder around them is not.
    change_mode(prefix .. "control", private)
    -- As root, the workers are another user and must reach their temporary files.
    if ffi.C.geteuid() == 0 then
        change_mode(prefix, passable)
    end
    require("lockstep.rows").allocate()
    require("lockstep.state").init(random_id())
    -- For the blocks of the configuration: a search by each of them would cost every request something.
    _G.lockstep = require("lockstep.request")
    require("lockstep.certificate")
    require("lockstep.control")
    require("lockstep.silent_connections")
    restore(prefix)
end

function _M.init_worker()
    -- As another user than the master this fails, and the folder alone keeps others out.
    ffi.C.chmod(ngx.config.prefix() .. "control/control.sock", own)
    require("lockstep.state").register_worker()
    require("lockstep.counters").init_worker(ngx.shared.lockstep_meta:get("highest_slot"))
    require("lockstep.silent_connections").init_worker()
    -- Workers are copies of one process and would all draw the same numbers.
    math.randomseed(ngx.now() * 1000 + ngx.worker.pid() * 7919)
end

return _M
