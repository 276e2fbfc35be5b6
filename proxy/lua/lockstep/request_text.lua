-- The head of a request that Lockstep sends itself, line by line: its own headers about the client, and
-- those of the client that mean the same to the receiver.
local _M = {}

-- Headers of the request that mean something else there, or that only the proxy knows. So are all
-- headers with these prefixes, because the service may know more of them than we do.
local own_headers = {}
for _, name in ipairs({
    "host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "expect",
    "keep-alive", "proxy", "proxy-connection", "forwarded", "x-scheme", "x-real-ip", "x-request-id",
    "x-sent-from", "x-auth-request-redirect", "x-rewrite-url", "x-host", "x-lockstep-auth",
    "x-lockstep-copy",
}) do
    own_headers[name] = true
end
local OWN_BEGINNINGS = { "^x%-forwarded%-", "^x%-original%-" }

local function is_own(name)
    local lower = name:lower()
    return own_headers[lower]
        or lower:find(OWN_BEGINNINGS[1]) ~= nil
        or lower:find(OWN_BEGINNINGS[2]) ~= nil
end

-- Whether it would end a line.
function _M.ends_line(text)
    return text:find("[%z\r\n]") ~= nil
end

function _M.add(lines, name, value)
    if value ~= nil and value ~= "" and not _M.ends_line(value) then
        lines[#lines + 1] = name .. ": " .. value
    end
end

-- Those of the client, by `add`, which is the one above unless given.
function _M.add_headers(lines, add)
    add = add or _M.add
    for name, value in pairs(ngx.req.get_headers(0, true)) do
        if not is_own(name) then
            for _, one in ipairs(type(value) == "table" and value or { value }) do
                add(lines, name, one)
            end
        end
    end
end

-- About the client, as the endpoints of routes get them (headers-trusted.conf).
function _M.add_forwarded(lines, var)
    local add, proto = _M.add, var.lockstep_forwarded_proto
    add(lines, "X-Request-ID", var.lockstep_request_id)
    add(lines, "X-Real-IP", var.remote_addr)
    add(lines, "X-Forwarded-For", var.lockstep_forwarded_for)
    add(lines, "X-Original-Forwarded-For", var.http_x_forwarded_for)
    add(lines, "X-Forwarded-Host", var.lockstep_forwarded_host)
    add(lines, "X-Forwarded-Port", var.lockstep_forwarded_port)
    add(lines, "X-Forwarded-Proto", proto)
    add(lines, "X-Forwarded-Scheme", proto)
    add(lines, "X-Scheme", proto)
    add(lines, "X-Forwarded-Prefix", var.lockstep_forwarded_prefix)
    add(lines, "Forwarded", var.lockstep_forwarded)
end

return _M
