-- The host that is sent to an endpoint. A request line may name another host than the Host header;
-- nginx and Lockstep use the former, and the endpoint must not get the latter. The header is passed
-- on, with its port, when both agree.
local _M = {}

-- `host` is nginx's: in lower case, without a port.
local function agrees(header, host)
    local sent = string.lower(header or "")
    return sent == host or string.match(sent, "^(.*):%d+$") == host
end

function _M.settle(var, host)
    local header = var.http_host
    if header ~= host and not agrees(header, host) then
        var.lockstep_host = host
    end
end

return _M
