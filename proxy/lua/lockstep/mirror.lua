-- Copies of requests for other services. Each goes out on a timer of its own, on its own connection, and
-- its answer is read and forgotten: a client never waits for one, and no copy makes its request fail. A
-- copy that finds no room is left out, and the error log says how many were.
--
-- Invariant: `running`, `of_owner` and `bytes` are those of the copies between `begin` and the end of
-- their timers.
local auth_request = require("lockstep.auth_request")
local canary = require("lockstep.canary")
local forwarded_path = require("lockstep.forwarded_path")
local request_text = require("lockstep.request_text")
local rewrite = require("lockstep.rewrite")

local _M = {}

-- Of one worker. Each takes a timer and a connection (lua_max_running_timers in nginx.conf).
local MOST_RUNNING = 512
-- Of the services of one namespace, or a slow one would take the places of all others.
local MOST_OF_OWNER = 128
-- Longer bodies are not copied; those of one worker take no more memory than this.
local MOST_BODY_BYTES = 1024 * 1024
local MOST_BYTES = 32 * 1024 * 1024
-- No client waits for the answer: less patience than for requests frees the place sooner.
local CONNECT_MS, SEND_MS, READ_MS = 500, 5000, 10000
local MOST_ANSWER_BYTES = 1024 * 1024
-- The header of every copy.
local MARK = "X-Lockstep-Copy"
-- Between two lines of the error log.
local REPORT_SECONDS = 10

local running, of_owner, bytes = 0, {}, 0
local left_out, reported_at = 0, 0

function _M.prepare(mirrors)
    for _, mirror in ipairs(mirrors) do
        mirror.turn = canary.first_turn()
    end
end

local function leave_out(why)
    left_out = left_out + 1
    if ngx.now() - reported_at >= REPORT_SECONDS then
        ngx.log(ngx.WARN, "copies of requests were not sent: ", left_out, ", the last one: ", why)
        left_out, reported_at = 0, ngx.now()
    end
end

-- The service of the copy, if it has an endpoint.
local function service_of(mirror)
    -- state.lua needs the policies, which need this file.
    local service = require("lockstep.state").service(mirror.service)
    return service ~= nil and service.peers.count > 0 and service or nil
end

local function file_text(path)
    local file = io.open(path, "rb")
    local size = file and file:seek("end") or math.huge
    local text = nil
    if size <= MOST_BODY_BYTES then
        file:seek("set")
        text = file:read("*a")
    end
    if file then
        file:close()
    end
    return text
end

-- An HTTP/2 request need not say how long its body is; admission.lua has read such a one.
local usually_without = { GET = true, HEAD = true, OPTIONS = true }

local function has_body(var)
    local length = tonumber(var.content_length)
    if length ~= nil then
        return length > 0
    end
    local is_http2 = var.server_protocol == "HTTP/2.0"
    return var.http_transfer_encoding ~= nil or is_http2 and not usually_without[ngx.req.get_method()]
end

-- The body, nil for a request without one; and whether it can be copied.
local function body_of(var)
    if not has_body(var) then
        return nil, true
    end
    if (tonumber(var.content_length) or 0) > MOST_BODY_BYTES then
        return nil, false
    end
    ngx.req.read_body()
    local path = ngx.req.get_body_file()
    local text = path and file_text(path) or ngx.req.get_body_data()
    if path ~= nil and text == nil then
        return nil, false
    end
    text = text or ""
    return text, #text <= MOST_BODY_BYTES
end

-- The target that the endpoint of the request itself gets.
local function target_of(policy, var)
    if policy.prepared.rewrite == nil and not forwarded_path.is_ambiguous(var.request_uri) then
        return var.request_uri
    end
    return rewrite.encoded(var.uri) .. (var.args and "?" .. var.args or "")
end

local function head_of(policy, var, body)
    local target = target_of(policy, var)
    local lines = { ngx.req.get_method() .. " " .. target .. " HTTP/1.1" }
    local add = request_text.add
    add(lines, "Host", policy.upstreamHost or var.lockstep_upstream_host)
    add(lines, "Connection", "close")
    add(lines, MARK, "1")
    if body ~= nil then
        add(lines, "Content-Length", tostring(#body))
    end
    request_text.add_forwarded(lines, var)
    request_text.add_headers(lines)
    return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

local function finish(owner, size)
    running, bytes = running - 1, bytes - size
    of_owner[owner] = of_owner[owner] > 1 and of_owner[owner] - 1 or nil
end

local function send(premature, mirror, owner, head, body)
    local service = not premature and service_of(mirror)
    if service then
        local limits = { CONNECT_MS, SEND_MS, READ_MS, MOST_ANSWER_BYTES }
        local fine, problem = pcall(auth_request.send, service, { head, body or "" }, limits)
        if not fine then
            ngx.log(ngx.ERR, "a copy of a request failed: ", problem)
        end
    end
    finish(owner, #head + #(body or ""))
end

local function begin(mirror, owner, head, body)
    local size = #head + #(body or "")
    local count = of_owner[owner] or 0
    if running >= MOST_RUNNING or count >= MOST_OF_OWNER or bytes + size > MOST_BYTES then
        return leave_out("too many are under way")
    end
    running, bytes, of_owner[owner] = running + 1, bytes + size, count + 1
    local fine, problem = ngx.timer.at(0, send, mirror, owner, head, body)
    if not fine then
        finish(owner, size)
        leave_out(problem)
    end
end

-- Those that get a copy of this request.
local function chosen(mirrors)
    local found = {}
    for _, mirror in ipairs(mirrors) do
        local service = canary.takes_share(mirror) and service_of(mirror)
        if service then
            found[#found + 1] = { mirror = mirror, owner = service.owner }
        end
    end
    return found
end

-- In the access phase, once the request may pass and its headers and path are those for the endpoint.
-- A connection that becomes another protocol has no copy, nor has a copy: one for a service that leads
-- here again would have copies for ever.
function _M.copy(policy, var)
    -- The body of a stream has no end to be waited for.
    if policy.prepared.streams then
        return
    end
    local found = chosen(policy.mirrors)
    if #found == 0 or var.lockstep_upgrade ~= "" or var.http_x_lockstep_copy ~= nil then
        return
    end
    local body, can_be_copied = body_of(var)
    if not can_be_copied then
        return leave_out("its body is too long")
    end
    local head = head_of(policy, var, body)
    for _, one in ipairs(found) do
        begin(one.mirror, one.owner, head, body)
    end
end

return _M
