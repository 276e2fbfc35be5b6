-- A policy as it is pushed, checked field by field: types, bounds, and nothing unknown.
-- An unknown field may be meant as a protection, so it is refused. RoutePolicy in src/decide/route-
-- policy.ts describes each field.
local cjson = require("cjson")
local checks = require("lockstep.checks")
local networks = require("lockstep.networks")
local pattern = require("lockstep.pattern")

local check, is_whole = checks.check, checks.is_whole

local _M = {}

-- Longer than any header may be; the bounds on numbers keep sums of them exact.
local MOST_TEXT = 4096
local MOST_ITEMS = 1000
local MOST_BYTES = 2 ^ 52
local MOST_NUMBER = 1e12
local MOST_MS = 2 ^ 31 - 1

-- Characters that cannot end a header or a line.
local PRINTABLE = "^[\32-\126\128-\255]*$"
local TOKEN = "^[%w!#$%%&'*+.^_`|~-]+$"

local function text(form, what)
    return function(value)
        local is_text = type(value) == "string" and #value <= MOST_TEXT
        check(is_text and value:find(PRINTABLE) and value:find(form), what)
        return value
    end
end

local function number(least, most)
    return function(value)
        local is_number = type(value) == "number" and value >= least and value <= most
        check(is_number, "a number of a policy is out of range")
        return value
    end
end

local function whole(least, most)
    return function(value)
        check(is_whole(value, least, most), "a whole number of a policy is out of range")
        return value
    end
end

local function one_of(...)
    local known = {}
    for _, value in ipairs({ ... }) do
        known[value] = true
    end
    return function(value)
        check(value ~= nil and known[value] == true, "a choice of a policy is not known")
        return value
    end
end

local function boolean(value)
    check(type(value) == "boolean", "a switch of a policy must be true or false")
    return value
end

local function list(item, most)
    return function(value)
        check(type(value) == "table", "a list of a policy must be a list")
        local count, items = 0, {}
        for _ in pairs(value) do
            count = count + 1
        end
        check(count == #value and count <= most, "a list of a policy is too long or has holes")
        for index = 1, count do
            items[index] = item(value[index])
        end
        return items
    end
end

-- Of an object with these fields: those in `required` must be there.
local function object(fields, required)
    return function(value)
        check(type(value) == "table", "a part of a policy must be an object")
        local parsed = {}
        for name, field in pairs(value) do
            local parse = fields[name]
            check(parse ~= nil, "a policy has a field that is not known")
            -- null, which stands for nothing anywhere here, is of no type that passes.
            check(field ~= cjson.null, "a field of a policy is null")
            parsed[name] = parse(field)
        end
        for _, name in ipairs(required or {}) do
            check(parsed[name] ~= nil, "a part of a policy lacks " .. name)
        end
        return parsed
    end
end

local function network(value)
    check(type(value) == "string" and #value <= MOST_TEXT, "a network must be a string")
    check(networks.parse(value) ~= nil, "a network must be like 10.0.0.0/8")
    return value
end

local function ip_address(value)
    check(type(value) == "string" and #value <= MOST_TEXT, "an address must be a string")
    check(value:find("^[%x:.]+$"), "an address must be an IP address")
    return value
end

local function header_pattern(value)
    check(type(value) == "string" and #value <= MOST_TEXT, "a pattern must be a string")
    check(pattern.compile(value) ~= nil, "a pattern must be a regular expression")
    return value
end

local any_path = text("^/", "a path of a policy must begin with a slash")

-- One slash and something else: two would begin the name of a host.
local function path(value)
    check(not any_path(value):find("^/[/\\]"), "a path of a policy must begin with one slash")
    return value
end

local any = text("", "a text of a policy is too long or has control characters")
local token = text(TOKEN, "a name of a policy has characters it cannot have")
local location = text("^%S+$", "a location must be one word")
local host_name = text("^[%w.-]+$", "a host to be sent to must be a name")
local status = one_of(301, 302, 303, 307, 308)

-- These would make another request of the one that passes.
local framing_headers = {
    ["connection"] = true,
    ["content-length"] = true,
    ["expect"] = true,
    ["host"] = true,
    ["keep-alive"] = true,
    ["proxy-authenticate"] = true,
    ["proxy-authorization"] = true,
    ["proxy-connection"] = true,
    ["te"] = true,
    ["trailer"] = true,
    ["transfer-encoding"] = true,
    ["upgrade"] = true,
}

local function answered_header(value)
    check(not framing_headers[token(value):lower()], "this header cannot be taken from an answer")
    return value
end

local function changed_header(value)
    check(not framing_headers[token(value):lower()], "this header cannot be changed")
    return value
end

-- Variables that a key may contain, with nginx's names, besides headers, cookies and arguments.
local key_variables = {
    request_uri = "request_uri",
    uri = "uri",
    args = "args",
    host = "host",
    -- Of our one server it would be the same for all.
    server_name = "host",
    remote_addr = "remote_addr",
    request_method = "request_method",
    scheme = "scheme",
}

local function key_variable(value)
    local variable = text("^[%w_-]+$", "no name of a variable")(value)
    local is_field = value:find("^http_.") or value:find("^cookie_.") or value:find("^arg_.")
    variable = is_field and variable or key_variables[variable]
    check(variable ~= nil, "a key of hash cannot be made of this variable")
    return variable
end

local hash_part = object({ text = any, variable = key_variable })

local affinity = object({
    cookie = token,
    mode = one_of("balanced", "persistent"),
    path = text("^/[^;]*$", "the path of a cookie must begin with a slash"),
    domain = text("^[%w.-]+$", "the domain of a cookie must be a host name"),
    maxAgeSeconds = whole(0, MOST_NUMBER),
    secure = boolean,
    sameSite = one_of("None", "Lax", "Strict"),
    conditionalSameSiteNone = boolean,
    changeOnFailure = boolean,
}, { "cookie", "mode" })

local balance_fields = object({
    method = one_of("round-robin", "least-latency", "hash"),
    hashBy = list(hash_part, MOST_ITEMS),
    affinity = affinity,
    sessionHeader = changed_header,
}, { "method" })

local function balance(value)
    local parsed = balance_fields(value)
    check(parsed.method ~= "hash" or parsed.hashBy ~= nil, "hash must say what to make keys of")
    local header = parsed.sessionHeader
    check(header == nil or parsed.affinity == nil, "sessions are kept by a cookie or by a header")
    if header ~= nil then
        parsed.affinity = { header = header, mode = "persistent" }
    end
    return parsed
end

local header_value = object({ name = changed_header, value = any }, { "name", "value" })
local header_changes = object({
    set = list(header_value, MOST_ITEMS),
    add = list(header_value, MOST_ITEMS),
    remove = list(changed_header, MOST_ITEMS),
})

local canary = object({
    service = any,
    requestHeaders = header_changes,
    responseHeaders = header_changes,
    header = object({ name = token, value = any, pattern = header_pattern }, { "name" }),
    cookie = token,
    weight = number(0, MOST_NUMBER),
    weightTotal = number(1, MOST_NUMBER),
}, { "service" })

local cors = object({
    dialect = one_of("gateway"),
    allowOrigins = list(text("^[^*]*%*?[^*]*$", "an origin has one asterisk at most"), MOST_ITEMS),
    allowMethods = list(token, MOST_ITEMS),
    allowHeaders = list(token, MOST_ITEMS),
    exposeHeaders = list(token, MOST_ITEMS),
    allowCredentials = boolean,
    maxAgeSeconds = whole(0, MOST_NUMBER),
}, {
    "allowOrigins",
    "allowMethods",
    "allowHeaders",
    "exposeHeaders",
    "allowCredentials",
    "maxAgeSeconds",
})

local path_change = object({ full = path, prefix = path })

local condition = object({ name = token, value = any, pattern = header_pattern }, { "name" })

-- The conditions of a rule on requests, besides host and path.
_M.when = object({
    ports = list(whole(1, 65535), MOST_ITEMS),
    addresses = list(ip_address, MOST_ITEMS),
    isListener = one_of(true),
    method = token,
    elements = list(condition, MOST_ITEMS),
    headers = list(condition, MOST_ITEMS),
    query = list(condition, MOST_ITEMS),
})

-- Of one rule: canaries differ where all else of a policy is shared.
_M.canaries = list(canary, MOST_ITEMS)

-- The policy, or an error that says what is wrong with it.
_M.parse = object({
    closed = one_of(true),
    refuse = one_of(404, 500, 503),
    requestHeaders = header_changes,
    responseHeaders = header_changes,
    mirrors = list(
        object({
            service = any,
            weight = number(0, MOST_NUMBER),
            weightTotal = number(1, MOST_NUMBER),
        }, { "service" }),
        MOST_ITEMS
    ),
    ownHeaders = object({ requestHeaders = header_changes, responseHeaders = header_changes }),
    pathRewrite = path_change,
    partRedirect = object({
        scheme = one_of("http", "https"),
        host = host_name,
        port = whole(1, 65535),
        path = path_change,
        status = status,
    }, { "status" }),
    deadlineMs = whole(1, MOST_MS),
    httpsRedirect = status,
    redirect = object({ location = location, status = status }, { "location", "status" }),
    hostRedirect = object({ host = host_name, status = status }, { "host", "status" }),
    appRoot = path,
    rewrite = any_path,
    upstreamHost = text("^[%w.:%[%]_-]+$", "upstreamHost must be a name or an address"),
    upstreamTlsName = text("^[%w.:%[%]_-]+$", "a name for TLS must be a name or an address"),
    protocol = one_of("http", "https", "grpc", "grpcs"),
    verifyUpstream = boolean,
    forwardedPrefix = path,
    largeHeaders = one_of(true),
    streamBodies = one_of(true),
    maxBodyBytes = whole(0, MOST_BYTES),
    timeouts = object({
        connectMs = whole(1, MOST_MS),
        sendMs = whole(1, MOST_MS),
        readMs = whole(1, MOST_MS),
    }),
    tries = whole(1, 100),
    retryOn = list(one_of(500, 502, 503, 504), 4),
    balance = balance,
    allowFrom = list(network, MOST_ITEMS),
    denyFrom = list(network, MOST_ITEMS),
    rateLimit = object({
        requestsPerSecond = number(1e-6, MOST_NUMBER),
        burst = number(0, MOST_NUMBER),
        exceptFrom = list(network, MOST_ITEMS),
    }, { "requestsPerSecond", "burst" }),
    basicAuth = object({
        users = any,
        realm = text('^[^"\\]*$', "a realm has no quotation mark and no backslash"),
    }, { "users", "realm" }),
    externalAuth = object({
        service = any,
        namespaces = list(text("^[%w.*-]+$", "a namespace must be a name"), MOST_ITEMS),
        tls = one_of(true),
        host = text("^[%w.:$_{}-]+$", "a host to be asked must be a name"),
        path = text("^/%S*$", "what is asked for must be a path"),
        method = one_of("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"),
        responseHeaders = list(answered_header, MOST_ITEMS),
        signIn = location,
        requestRedirect = any,
    }, { "host", "path" }),
    cors = cors,
})

return _M
