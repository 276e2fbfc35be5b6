-- Selects the certificate for a client: the one of the requested name, then of the wildcard above
-- it, then the one for any name. Otherwise the handshake continues with the certificate of the
-- configuration file, which no client trusts, so that the client can get a better error than
-- "closed".
local ssl = require("ngx.ssl")
local state = require("lockstep.state")

local _M = {}

-- The key of the certificate for a name, or nothing.
local function find(name)
    local key = state.server_name(name)
    if key == nil then
        local dot = string.find(name, ".", 1, true)
        key = dot and state.server_name("*" .. string.sub(name, dot))
    end
    return key or state.server_name("*")
end

local function namespace_of(key)
    return key and string.match(key, "^([^/]*)/")
end

-- Whether a request for the host may come over a connection that was opened for the name. Browsers use
-- a connection for every host that its certificate covers; the host may belong to another namespace
-- than the certificate.
function _M.is_for(name, host)
    if name == nil or name == host then
        return true
    end
    local shown = namespace_of(find(string.lower(name)))
    return shown == nil or shown == namespace_of(find(host))
end

local function show(certificate)
    local fine, problem = ssl.clear_certs()
    if fine then
        fine, problem = ssl.set_cert(certificate.chain)
    end
    if fine then
        fine, problem = ssl.set_priv_key(certificate.key)
    end
    return fine, problem
end

-- In the phase ssl_certificate_by_lua. The log never holds more of a certificate than its name.
function _M.choose()
    state.wait_for_load()
    local asked = ssl.server_name()
    local key = find(asked and string.lower(asked) or "*")
    local certificate = key and state.certificate(key)
    if certificate == nil then
        return
    end
    local fine, problem = show(certificate)
    if not fine then
        ngx.log(ngx.ERR, "the certificate ", key, " cannot be used: ", problem)
        return ngx.exit(ngx.ERROR)
    end
end

return _M
