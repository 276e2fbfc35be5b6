// The Lua part of the live stock proxy: our own, small stand-in for what ingress-nginx has in
// rootfs/etc/nginx/lua. Changes of endpoints work as there: the whole list of backends is
// posted into shared memory, each worker looks for it every second, and round robin forgets which
// peer has just failed. A counter takes the place of their stamp in whole seconds.
//
// One thing is added for the lab: workers that find their master or its owner gone end the proxy, so
// that nothing outlives a lab that was killed.
import { ingressNginx } from "../ingress-nginx.ts";

/** Where the module is found by `require`. */
export const luaModuleName = "stock";

export function luaModule(options: { readonly ownerPid: number }): string {
  return `local balancer = require("ngx.balancer")
local cjson = require("cjson.safe")
local ffi = require("ffi")
ffi.cdef("int getpid(void); int getppid(void); int kill(int pid, int signal);")

local shared = ngx.shared.configuration_data
local owner = ${options.ownerPid}
local SIGTERM = 15
-- Much longer than any reader needs the time of a generation.
local TAKEN_SECONDS = 60

local _M = {}
local rotations = {}
local seen = 0

local function rotation_of(backend)
  local before = rotations[backend.name]
  local text = cjson.encode(backend.endpoints)
  if before and before.text == text then return before end
  return { text = text, peers = backend.endpoints, last = math.random(#backend.endpoints) }
end

local function sync_backends()
  local generation = shared:get("generation") or 0
  if generation <= seen then return end
  local backends = cjson.decode(shared:get("backends") or "[]") or {}
  local found = {}
  for _, backend in ipairs(backends) do
    if #backend.endpoints > 0 then found[backend.name] = rotation_of(backend) end
  end
  rotations = found
  seen = generation
  shared:set("seen:" .. ngx.worker.id(), generation)
  -- The last worker's word stays: since then all of them route by it.
  ngx.update_time()
  shared:set("taken:" .. generation, ngx.now(), TAKEN_SECONDS)
end

local function owner_of(pid)
  local file = io.open("/proc/" .. pid .. "/stat")
  if not file then return nil end
  local stat = file:read("*a")
  file:close()
  return tonumber(stat:match("^.*%) %S (%d+)"))
end

local function end_if_alone(master)
  if ffi.C.getppid() ~= master then
    ffi.C.kill(ffi.C.getpid(), SIGTERM)
  elseif owner_of(master) ~= owner then
    ffi.C.kill(master, SIGTERM)
  end
end

function _M.init_worker()
  math.randomseed(ngx.now() * 1000 + ngx.worker.pid())
  local master = ffi.C.getppid()
  sync_backends()
  ngx.timer.every(${ingressNginx.backendPollMs / 1_000}, function(premature)
    if premature then return end
    sync_backends()
    end_if_alone(master)
  end)
end

function _M.rewrite()
  if not rotations[ngx.var.proxy_upstream_name] then return ngx.exit(503) end
end

function _M.balance()
  local rotation = rotations[ngx.var.proxy_upstream_name]
  if not rotation then return end
  rotation.last = rotation.last % #rotation.peers + 1
  local peer = rotation.peers[rotation.last]
  balancer.set_more_tries(1)
  balancer.set_current_peer(peer.address, tonumber(peer.port))
end

local function body()
  ngx.req.read_body()
  local data = ngx.req.get_body_data()
  if data then return data end
  local file = io.open(ngx.req.get_body_file() or "", "rb")
  if not file then return nil end
  data = file:read("*a")
  file:close()
  return data
end

-- POST takes the backends and answers their generation; GET answers the one all workers have seen,
-- and since when they have.
function _M.backends()
  if ngx.req.get_method() == "POST" then
    local ok, problem = shared:set("backends", body())
    if not ok then
      ngx.status = 507
      return ngx.say(problem)
    end
    local generation = shared:incr("generation", 1, 0)
    return ngx.say(generation)
  end
  local all = shared:get("generation") or 0
  for id = 0, ngx.worker.count() - 1 do
    all = math.min(all, shared:get("seen:" .. id) or 0)
  end
  ngx.say(all .. " " .. (shared:get("taken:" .. all) or 0))
end

-- The last pushed value, as ingress-nginx answers it: \`nil\` before anything was.
function _M.handed_over()
  if ngx.req.get_method() ~= "GET" then
    ngx.status = 400
    return ngx.print("Only GET requests are allowed!")
  end
  ngx.print(shared:get("backends"))
end

return _M
`;
}
