-- The host that an endpoint is told. A request line may name another one than the Host header; nginx
-- and we go by the former, and the endpoint must not be told the latter. The header is passed on,
-- with its port, when both agree.
local _M = {}

-- `host` is nginx's: in lower case, without a port.
local function agrees(header, host)
    local told = string.lower(header or "")
    return told == host or string.match(told, "^(.*):%d+$") == host
end

function _M.settle(var, host)
    local header = var.http_host
    if header ~= host and not agrees(header, host) then
        var.lockstep_host = host
    end
end

return _M
