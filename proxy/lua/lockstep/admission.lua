-- The first half of the access phase: whether a request may pass, and to which service. A request
-- that may not pass is answered here. A route whose settings are not those of this location goes
-- over to the location that has them (see server.conf), where the access phase begins again.
local affinity = require("lockstep.affinity")
local answer = require("lockstep.answer")
local body = require("lockstep.body")
local canary = require("lockstep.canary")
local certificate = require("lockstep.certificate")
local changed_headers = require("lockstep.changed_headers")
local conditions = require("lockstep.conditions")
local forwarded_path = require("lockstep.forwarded_path")
local policy_steps = require("lockstep.policy")
local route = require("lockstep.route")
local state = require("lockstep.state")
local single_service_hosts = require("lockstep.single_service_hosts")
local sent_host = require("lockstep.sent_host")
local upstream = require("lockstep.upstream")

local _M = {}

local SLASH = string.byte("/")

-- Results that must survive ngx.exec, which clears ngx.ctx. The access phase of the other location
-- follows at once and takes them, so no other request can get them.
local carried = nil

local function enter(class, var, service, policy, headers)
    carried = { id = var.request_id, service = service, policy = policy, headers = headers }
    return upstream.enter(class)
end

local function take_over(var)
    local admitted = carried
    carried = nil
    return admitted ~= nil and admitted.id == var.request_id and admitted or nil
end

-- A client may use a connection for every host that its certificate covers. A Gateway has listeners for
-- hosts, which differ in more than their routes: what came in for one is not another's.
local function check_listener(var, host)
    local name = var.ssl_server_name
    if name == nil or name == host then
        return
    end
    name = string.lower(name)
    state.learn_host(name)
    state.learn_host(host)
    conditions.begin()
    local ask = conditions.of_request
    if route.listener_of(state.host, name, ask) ~= route.listener_of(state.host, host, ask) then
        return answer.refuse(421, "wrong connection")
    end
end

local function find_rule(var, host, path)
    state.refresh()
    if state.generation == 0 and not state.wait_for_load() then
        return answer.refuse(503, "nothing loaded yet")
    end
    local rule, problem = route.find(state.host, host, path, conditions.of_request)
    if rule ~= nil then
        return rule
    end
    if problem ~= nil then
        return answer.refuse(500, problem)
    end
    check_listener(var, host)
    return answer.refuse(404, "no route")
end

-- If another reading of this path leads to another route, perhaps a protected one, the request is
-- ambiguous and is refused.
local function check_reading(reading, reason, var, rule)
    local plain = reading:gsub("//+", "/")
    state.learn_host(var.host)
    local other, problem = route.find(state.host, var.host, plain, conditions.of_request)
    if problem ~= nil then
        return answer.refuse(500, problem)
    end
    if other == nil or other == rule then
        return
    end
    if other.service ~= rule.service or other.policy ~= nil or rule.policy ~= nil then
        return answer.refuse(400, reason)
    end
end

-- Some programs leave out what follows a semicolon in an element of a path, some take a backslash for
-- a slash.
local function check_readings(var, path, rule)
    check_reading((path:gsub(";[^/]*", "")), "parameter decides the route", var, rule)
    local slashed = forwarded_path.with_slashes(path)
    if slashed ~= path then
        check_reading(slashed, "backslash decides the route", var, rule)
        check_reading((slashed:gsub(";[^/]*", "")), "backslash decides the route", var, rule)
    end
end

local function check_connection(var, host)
    if not certificate.is_for(var.ssl_server_name, host) then
        return answer.refuse(421, "wrong connection")
    end
    check_listener(var, host)
end

-- Stands for a part of a route that leads nowhere, which takes its share of the requests all the same.
local NOWHERE = ""

local function can_answer(name)
    if name == NOWHERE then
        return true
    end
    local service = state.service(name)
    return service ~= nil and service.peers.count > 0
end

local function names_endpoint_of(name, cookie)
    local service = state.service(name)
    return service ~= nil and affinity.names(service, cookie)
end

-- Where sessions are kept, each stays on its side: by the endpoint that its cookie names, else by
-- the cookie itself, or the one it will get.
local function canary_of(rule, var)
    local policy = rule.policy
    local canaries = policy.prepared.canaries
    local kept = policy.balance and policy.balance.affinity
    if kept == nil then
        return canary.choose(canaries, var, can_answer)
    end
    local cookie = var[affinity.variable(kept)]
    local belongs_to = nil
    if cookie ~= nil and names_endpoint_of(rule.service, cookie) then
        belongs_to = rule.service
    end
    for index = 1, cookie and #canaries or 0 do
        if names_endpoint_of(canaries[index].service, cookie) then
            belongs_to = belongs_to or canaries[index].service
        end
    end
    if cookie ~= nil and affinity.is_of_canary(cookie) then
        belongs_to = canaries[1].service
    end
    local is_known = cookie ~= nil and affinity.is_session(cookie)
    local session = is_known and cookie or affinity.new_session(var.request_id)
    return canary.choose(canaries, var, can_answer, session, belongs_to)
end

-- The class in which the request is served, and the one in which its body is read before.
local function classes_of(here, var, policy)
    local class, limit = policy.prepared.class, policy.maxBodyBytes
    if policy.prepared.streams then
        return class
    end
    -- `http_any` is `http` without a limit on the body; longer ones than usual come there first.
    if class == "http" and here == "http_any" then
        class = "http_any"
    end
    if limit == nil and class == "http" then
        return class
    end
    local reading = body.check(limit or body.DEFAULT_BYTES, var, class)
    if reading == "http_any" then
        return class == "http" and "http_any" or class
    end
    return class, reading
end

local function follow(here, var, path, rule)
    local policy = rule.policy
    local prepared = policy.prepared
    policy_steps.admit(prepared, var, path)
    local class, reading = classes_of(here, var, policy)
    local chosen = prepared.canaries and canary_of(rule, var)
    local name = chosen and chosen.service or rule.service
    local headers = chosen or policy.ownHeaders
    if name == NOWHERE then
        -- A gRPC client reads 503 as UNAVAILABLE.
        return answer.refuse(prepared.streams and 503 or 500, "not a valid route")
    end
    if prepared.rewrite ~= nil then
        policy_steps.rewrite(prepared, var, path)
    end
    if policy.requestHeaders ~= nil then
        changed_headers.of_request(policy.requestHeaders)
    end
    if headers ~= nil and headers.requestHeaders ~= nil then
        changed_headers.of_request(headers.requestHeaders)
    end
    if reading ~= nil or class ~= here then
        return enter(reading or class, var, name, policy, headers)
    end
    return name, policy, name == rule.service and rule or nil, headers
end

-- The ordinary way, of which there is little to find out: the service and its endpoints. Nothing where
-- it is not open. Parameters in the path make no difference here.
function _M.admit_straight(here, var)
    if here ~= "http" or carried ~= nil then
        return nil
    end
    state.refresh()
    local host, path = var.host, var.uri
    local service, peers = single_service_hosts.find(host)
    if service == nil or string.byte(path) ~= SLASH then
        return nil
    end
    check_connection(var, host)
    sent_host.settle(var, host)
    forwarded_path.settle(var.request_uri, path)
    return service, peers
end

-- The service's name, the policy, if there is one, the rule, if the service is its own, and the changes
-- of headers for this service. Nothing when the rules have to be decoded first. Does not return when the request is answered, or goes over
-- to another location.
function _M.admit(here, var)
    local admitted = carried and take_over(var)
    if admitted then
        return admitted.service, admitted.policy, nil, admitted.headers
    end
    local path, host = var.uri, var.host
    local rule = find_rule(var, host, path)
    if rule == state.UNDECODED then
        return nil
    end
    check_connection(var, host)
    sent_host.settle(var, host)
    forwarded_path.settle(var.request_uri, path)
    if string.find(path, ";", 1, true) ~= nil or string.find(path, "\\", 1, true) ~= nil then
        check_readings(var, path, rule)
    end
    if rule.policy ~= nil then
        return follow(here, var, path, rule)
    end
    if here == "http_any" then
        body.check(body.DEFAULT_BYTES, var, here)
    end
    return rule.service, nil, rule
end

-- The access phase of the locations in which a body is read and counted.
function _M.read_body()
    local var = ngx.var
    local admitted = take_over(var)
    local policy = admitted.policy
    body.read(policy.maxBodyBytes or body.DEFAULT_BYTES)
    local class = policy.prepared.class
    class = class == "http" and "http_any" or class
    return enter(class, var, admitted.service, policy, admitted.headers)
end

return _M
