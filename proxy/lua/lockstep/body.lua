-- How large the body of a request may be. A length that is announced is compared at once. A
-- body without one (chunked, or in HTTP/2) is read in the location of the smallest class that
-- fits, where nginx ends it when it grows beyond, and is then counted.
local answer = require("lockstep.answer")

local _M = {}

local MIB = 1024 * 1024

-- client_max_body_size of `location /`, in server.conf.
_M.DEFAULT_BYTES = 100 * MIB

-- The locations @body_… in server.conf, the smallest first.
local classes = {
    { name = "body_1m", bytes = MIB },
    { name = "body_10m", bytes = 10 * MIB },
    { name = "body_100m", bytes = 100 * MIB },
    { name = "body_1g", bytes = 1024 * MIB },
    { name = "body_10g", bytes = 10240 * MIB },
}

-- In HTTP/2 every request could have a body; these seldom have.
local usually_without = { GET = true, HEAD = true, OPTIONS = true }

-- `location /` has a limit of its own, which is enough for what is seldom there.
local function must_be_read(var, here)
    if var.http_transfer_encoding ~= nil then
        return true
    end
    if var.server_protocol ~= "HTTP/2.0" then
        return false
    end
    return here ~= "http" or not usually_without[ngx.req.get_method()]
end

local function class_for(limit)
    for _, class in ipairs(classes) do
        if limit <= class.bytes then
            return class.name
        end
    end
    return nil
end

-- Refuses a body that is too large. Gives the class in whose location the body has to be read
-- first, or `http_any` when it may be of any size; nothing when it can be read where the request
-- goes. `here` is the class of that location.
function _M.check(limit, var, here)
    local length = tonumber(var.content_length)
    if length ~= nil then
        if limit > 0 and length > limit then
            return answer.refuse(413, "body too large")
        end
        return nil
    end
    if not must_be_read(var, here) then
        return nil
    end
    return limit > 0 and class_for(limit) or "http_any"
end

local function bytes_read()
    local data = ngx.req.get_body_data()
    if data ~= nil then
        return #data
    end
    local path = ngx.req.get_body_file()
    local file = path and io.open(path, "rb")
    if not file then
        return 0
    end
    local bytes = file:seek("end")
    file:close()
    return bytes
end

-- In the location of a class. When the body is too large for that, nginx ends the request itself.
function _M.read(limit)
    local var = ngx.var
    var.lockstep_reason = "body too large"
    ngx.req.read_body()
    var.lockstep_reason = ""
    if bytes_read() > limit then
        return answer.refuse(413, "body too large")
    end
end

return _M
