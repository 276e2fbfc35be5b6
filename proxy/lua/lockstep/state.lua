-- The pushed state: one key in shared memory per host, policy, service, certificate, name asked for in
-- TLS and list of users, under the generation of the full load that brought it. Every worker decodes a
-- key when it first needs it, and once, however many rules or names refer to it; one global version and
-- a ring of changed keys tell it what to forget, so that each request sees the last push.
--
-- Invariant: a value is in place before the version that announces it. Only the holder of the lock
-- (see writer.lua) writes.
local cjson = require("cjson")
local peer_list = require("lockstep.peer_list")
local policy = require("lockstep.policy")
local route = require("lockstep.route")
local ssl = require("ngx.ssl")
local single_service_hosts = require("lockstep.single_service_hosts")
local version = require("lockstep.version")

local dict = ngx.shared.lockstep_state
local certificate_dict = ngx.shared.lockstep_certificates
local meta = ngx.shared.lockstep_meta

local _M = { generation = 0 }

-- A worker further behind than this forgets everything it decoded.
_M.RING = 4096
-- In place of a key: everything changed.
_M.ALL = "*"

-- A new nginx listens before the first push, and gets everything soon after. Requests of that
-- moment wait: three seconds, which is longer than any load but shorter than clients wait.
local LOAD_POLL_SECONDS = 0.02
local LOAD_POLLS = 150

-- Decoded entries of the current generation of this worker, by name. To build the key of the shared
-- memory for each request would cost more than the rest of the search.
local hosts, services, certificates, users, policies = {}, {}, {}, {}, {}
-- Hosts that have the rules of another host: by their name the other, and by the other their names.
local same_as, other_names = {}, {}
-- Policies that decoded rules refer to, and that were not there.
local missing_policies = {}
-- The version that this worker uses; none yet.
local seen = -1
-- Positions of round robin in services that have changed. They come and go: above this number, all
-- start from zero.
local MOST_CURSORS = 100000
local cursors, cursor_count = {}, 0

function _M.host_key(generation, name)
    return "h:" .. generation .. ":" .. name
end

function _M.service_key(generation, name)
    return "s:" .. generation .. ":" .. name
end

function _M.certificate_key(generation, name)
    return "c:" .. generation .. ":" .. name
end

function _M.server_name_key(generation, name)
    return "n:" .. generation .. ":" .. name
end

function _M.users_key(generation, name)
    return "u:" .. generation .. ":" .. name
end

function _M.policy_key(generation, name)
    return "p:" .. generation .. ":" .. name
end

-- In the master. The dictionaries survive a reload, so the boot id changes only with a new nginx.
function _M.init(boot_id)
    meta:safe_add("boot", boot_id)
    version.allocate()
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

local function keep_cursor(name, cursor)
    if cursors[name] == nil then
        cursor_count = cursor_count + 1
    end
    if cursor_count > MOST_CURSORS then
        cursors, cursor_count = {}, 1
    end
    cursors[name] = cursor
end

-- A rule holds the service itself and must see that it is out of date.
local function forget_service(name)
    local service = services[name]
    if service ~= nil then
        service.peers.is_stale = true
        keep_cursor(name, service.peers.cursor)
        services[name] = nil
    end
end

local function forget_hosts()
    hosts, same_as, other_names, missing_policies = {}, {}, {}, {}
    single_service_hosts.forget_all()
end

local function forget_name(name)
    hosts[name] = nil
    single_service_hosts.forget(name)
    local other = same_as[name]
    if other ~= nil then
        other_names[other][name] = nil
        same_as[name] = nil
    end
end

local function forget_host(name)
    forget_name(name)
    for other in pairs(other_names[name] or {}) do
        forget_name(other)
    end
end

-- A key stands for the policy's content, so rules that have it never have an old one; but some may have
-- been decoded without it.
local function forget_policy(name)
    policies[name] = nil
    if missing_policies[name] then
        forget_hosts()
    end
end

local function forget_all()
    for name in pairs(services) do
        forget_service(name)
    end
    services, certificates, users, policies = {}, {}, {}, {}
    forget_hosts()
end

local function forget(from, to)
    for number = from, to do
        local key = meta:get("ring:" .. number % _M.RING)
        if key == nil or key == _M.ALL then
            forget_all()
            return
        end
        local kind, name = string.match(key, "^(%a):%d+:(.*)$")
        if kind == "h" then
            forget_host(name)
        elseif kind == "s" then
            forget_service(name)
        elseif kind == "c" then
            certificates[name] = nil
        elseif kind == "u" then
            users[name] = nil
        elseif kind == "p" then
            forget_policy(name)
        end
    end
end

-- Once at the start of a request, before anything is looked up.
function _M.refresh()
    local newest = version.get()
    if newest == seen then
        return
    end
    if newest - seen > _M.RING then
        forget_all()
    else
        forget(seen + 1, newest)
        -- The ring may have come round while we read it.
        if version.get() - seen > _M.RING then
            forget_all()
        end
    end
    seen = newest
    local generation = meta:get("generation")
    if generation ~= _M.generation then
        -- A load may have ended since the version was read.
        forget_all()
        _M.generation = generation
    end
end

-- By the last push; before the first one it is waited for, and false when it does not come.
function _M.wait_for_load()
    _M.refresh()
    for _ = 1, LOAD_POLLS do
        if _M.generation > 0 then
            return true
        end
        ngx.sleep(LOAD_POLL_SECONDS)
        _M.refresh()
    end
    return _M.generation > 0
end

-- Stands for the rules of a host that this worker has not decoded yet: whatever the path, its rule is
-- `state.UNDECODED`.
_M.UNDECODED = { isForAll = true }
local undecoded = route.of_everything(_M.UNDECODED)

-- The compiled rules of a host, or nothing. Unknown names are not remembered: clients can send
-- more of them than memory holds.
function _M.host(name)
    local host = hosts[name]
    if host ~= nil then
        return host
    end
    return dict:get(_M.host_key(_M.generation, name)) and undecoded
end

-- A rule without its policy is never served: the policy may have been meant to protect something.
local function policy_of(name)
    local known = policies[name]
    if known == nil then
        local text = dict:get(_M.policy_key(_M.generation, name))
        if text == nil then
            missing_policies[name] = true
            return policy.CLOSED
        end
        known = cjson.decode(text)
        policies[name] = known
    end
    return known
end

local function entry_of(name)
    local text = dict:get(_M.host_key(_M.generation, name))
    return text and cjson.decode(text)
end

-- The rules of a host that was left out, and of a host that refers to a missing host.
local left_out = route.of_everything(policy.closed_rule())
local no_rules = route.compile({})

-- The rules of a host that has its own, decoded; nothing when it has none.
local function decode_rules(name, entry)
    if entry == false then
        return left_out
    end
    if type(entry) ~= "table" then
        return nil
    end
    for _, rule in ipairs(entry) do
        if rule.policy ~= nil then
            rule.policy = policy_of(rule.policy)
        elseif rule.canaries ~= nil then
            rule.policy = {}
        end
    end
    return route.compile(entry, policy.prepare, name)
end

local function decode_same(name, other)
    hosts[other] = hosts[other] or decode_rules(other, entry_of(other))
    hosts[name] = same_as[other] == nil and hosts[other] or no_rules
    same_as[name] = other
    other_names[other] = other_names[other] or {}
    other_names[other][name] = true
end

local function decode_host(name)
    if hosts[name] ~= nil then
        return
    end
    local entry = entry_of(name)
    if type(entry) == "string" then
        decode_same(name, entry)
    elseif entry ~= nil then
        hosts[name] = decode_rules(name, entry)
    end
end

-- LuaJIT compiles a request's way as one piece, but not what decodes, nor what calls it. So the way
-- of those that find everything decoded leads through nothing that would decode, and request.lua
-- turns aside to `learn_host` and `learn_service` by itself.

-- Decodes all rules by which requests for the host may go.
function _M.learn_host(name)
    decode_host(name)
    decode_host(route.wildcard_of(name) or "*")
    local deep, rest = route.deep_wildcard_of(name)
    while deep do
        decode_host(deep)
        deep, rest = route.deep_wildcard_of(rest)
    end
    decode_host("*")
end

-- The namespace that has the host; empty when none has, or this worker has decoded no rules of it.
function _M.owner_of(name)
    local host = hosts[name] or hosts[route.wildcard_of(name)]
    return host and route.owner_of(host) or ""
end

-- The service and its endpoints (see peer_list.lua) if this worker has decoded it and nothing has
-- changed since. The rule, if there is one, holds both from now on: they are found there sooner.
function _M.known_service(name, rule)
    local peers = rule and rule.peers
    if peers and not peers.is_stale then
        return rule.held, peers
    end
    local service = services[name]
    if service == nil then
        return nil
    end
    peers = service.peers
    if rule ~= nil then
        rule.held, rule.peers = service, peers
    end
    return service, peers
end

-- From now on requests for the host find the service by `single_service_hosts.find`, if all of them
-- lead to it by this rule. Not for a wildcard: clients can invent more names than memory holds.
function _M.lead_straight(name, rule, service)
    if rule.only and rule.policy == nil and hosts[name] == rule then
        single_service_hosts.add(name, service)
    end
end

-- As known_service, of one that is not known yet.
function _M.learn_service(name)
    local text = dict:get(_M.service_key(_M.generation, name))
    if text == nil then
        return nil
    end
    -- Workers begin at different endpoints, or the first would get every first request.
    local cursor = cursors[name] or ngx.worker.id()
    local service = peer_list.pack(name, cjson.decode(text), cursor)
    services[name] = service
    return service, service.peers
end

function _M.service(name)
    return services[name] or _M.learn_service(name)
end

local function digests_by_name(text)
    local digests = {}
    for _, pair in ipairs(cjson.decode(text)) do
        digests[pair[1]] = digests[pair[1]] or pair[2]
    end
    return digests
end

-- Digests of passwords by the names of a list of users, or nothing.
function _M.users_of(name)
    local known = users[name]
    if known == nil then
        local text = dict:get(_M.users_key(_M.generation, name))
        if text == nil then
            return nil
        end
        known = digests_by_name(text)
        users[name] = known
    end
    return known
end

-- The key of the certificate for a name asked for in TLS, or nothing.
function _M.server_name(name)
    local text = dict:get(_M.server_name_key(_M.generation, name))
    return text and cjson.decode(text)
end

local function parse_certificate(name, pem)
    local chain, problem = ssl.parse_pem_cert(pem.chain)
    local key
    if chain ~= nil then
        key, problem = ssl.parse_pem_priv_key(pem.key)
    end
    if key == nil then
        ngx.log(ngx.ERR, "the certificate ", name, " cannot be read: ", problem)
        return false
    end
    return { chain = chain, key = key }
end

-- Chain and key, parsed, or nothing. One that cannot be read is complained of once in each worker.
function _M.certificate(name)
    local certificate = certificates[name]
    if certificate == nil then
        local text = certificate_dict:get(_M.certificate_key(_M.generation, name))
        if text == nil then
            return nil
        end
        certificate = parse_certificate(name, cjson.decode(text))
        certificates[name] = certificate
    end
    return certificate or nil
end

return _M
