-- The digest of a password, by nginx's own function, which knows all forms that auth_basic takes. Runs
-- in a thread beside a worker (see password.lua), in a Lua state of its own, and behind everything
-- else that wants the processor.
local ffi = require("ffi")

ffi.cdef([[
typedef struct { void *configuration; void *pool; void *log; } lockstep_cycle_t;
extern volatile lockstep_cycle_t *ngx_cycle;
void *ngx_create_pool(size_t size, void *log);
void ngx_destroy_pool(void *pool);
intptr_t ngx_crypt(void *pool, const char *key, const char *salt, unsigned char **encrypted);
int setpriority(int which, unsigned int who, int priority);
]])

local _M = {}

local POOL_BYTES = 4096

-- Of the thread that calls: to Linux each thread has a priority of its own.
local PRIO_PROCESS, OWN, LAST = 0, 0, 19

-- In the form of another digest; nothing when there is no such form.
function _M.like(stored, password)
    -- Here and not above: nginx loads this file in the worker's event loop, whose priority must stay.
    ffi.C.setpriority(PRIO_PROCESS, OWN, LAST)
    local pool = ffi.C.ngx_create_pool(POOL_BYTES, ffi.C.ngx_cycle.log)
    if pool == nil then
        return nil
    end
    local made = ffi.new("unsigned char *[1]")
    local code = ffi.C.ngx_crypt(pool, password, stored, made)
    local digest = code == 0 and ffi.string(made[0]) or nil
    ffi.C.ngx_destroy_pool(pool)
    return digest
end

return _M
