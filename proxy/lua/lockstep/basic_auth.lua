-- Name and password of a request, compared with the users of a route. The endpoint does not see
-- them. While a list has not been pushed, no user may pass.
local answer = require("lockstep.answer")
local cors = require("lockstep.cors")
local password = require("lockstep.password")

local _M = {}

-- A header that is longer holds no name and password.
local MOST_BYTES = 4096

-- The name and the password; nothing when the header holds none.
local function parse(header)
    if header == nil or #header > MOST_BYTES then
        return nil
    end
    local encoded = string.match(header, "^[Bb][Aa][Ss][Ii][Cc] +([%w+/=]+) *$")
    local decoded = encoded and ngx.decode_base64(encoded)
    if decoded == nil then
        return nil
    end
    return string.match(decoded, "^([^:]+):(.*)$")
end

-- A page of another origin may read that it has to ask for a password.
local function ask(challenge, allowed_pages, var)
    local allowed = allowed_pages and cors.allowed(allowed_pages, var.http_origin)
    if allowed then
        cors.set_headers(allowed_pages, allowed)
    end
    ngx.header["WWW-Authenticate"] = challenge
    return answer.refuse(401, "password required")
end

-- `users_of` gives the digests by name of a list, or nothing.
function _M.step(policy, users_of)
    local list = policy.basicAuth.users
    -- A list is named after its namespace, which owns the routes that use it.
    local owner = string.match(list, "^[^/]*")
    local challenge = 'Basic realm="' .. policy.basicAuth.realm .. '", charset="UTF-8"'
    local allowed_pages = policy.prepared.cors
    return function(var)
        local users = users_of(list)
        if users == nil then
            return answer.refuse(503, "route closed")
        end
        local name, given = parse(var.http_authorization)
        local stored = name and users[name]
        if stored == nil then
            return ask(challenge, allowed_pages, var)
        end
        local is_right = password.is_right(owner, given, stored)
        if is_right == nil then
            return answer.refuse(503, "too many passwords")
        end
        if not is_right then
            return ask(challenge, allowed_pages, var)
        end
        ngx.req.clear_header("Authorization")
    end
end

return _M
