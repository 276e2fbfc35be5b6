-- The conditions of a rule on a request besides its host and path: the port and the address it came
-- in by, its method, elements of its path, headers and parameters of its query. Pure: `ask` reads the
-- request. The twin is in src/outputs/nginx/route-match.ts.
local pattern = require("lockstep.pattern")

local _M = {}

local function prepare_fields(fields)
    for _, field in ipairs(fields or {}) do
        field.variable = "http_" .. field.name:lower():gsub("-", "_")
        field.compiled = field.pattern and pattern.compile(field.pattern)
    end
end

local function set_of(list)
    if list == nil then
        return nil
    end
    local set = {}
    for _, item in ipairs(list) do
        set[item] = true
    end
    return set
end

-- Once, before it is asked for.
function _M.prepare(when)
    prepare_fields(when.elements)
    prepare_fields(when.headers)
    prepare_fields(when.query)
    when.port_set = set_of(when.ports)
    when.address_set = set_of(when.addresses)
end

-- A comparison that takes too long says so by its second result, and never "no".
local function fits(field, value)
    if value == nil then
        return false
    end
    if field.compiled ~= nil then
        return pattern.matches(field.compiled, value)
    end
    return value == field.value
end

local function all_fit(fields, value_of)
    for index = 1, fields and #fields or 0 do
        local field = fields[index]
        local fine, problem = fits(field, value_of(field))
        if not fine then
            return false, problem
        end
    end
    return true
end

-- Of the path, which must have exactly two.
local function have_elements(fields, path)
    local first, second = string.match(path, "^/([^/]+)/([^/]+)$")
    for index = 1, #fields do
        local field = fields[index]
        local fine, problem = fits(field, field.name == "1" and first or field.name == "2" and second or nil)
        if not fine then
            return false, problem
        end
    end
    return true
end

-- Without `ask` nothing is known of the request, and nothing holds.
function _M.hold(when, ask, path)
    if ask == nil then
        return false
    end
    if when.port_set ~= nil and not when.port_set[ask.port()] then
        return false
    end
    if when.address_set ~= nil and not when.address_set[ask.address()] then
        return false
    end
    if when.method ~= nil and when.method ~= ask.method() then
        return false
    end
    local fine, problem = true, nil
    if when.elements ~= nil then
        fine, problem = have_elements(when.elements, path)
        if not fine then
            return false, problem
        end
    end
    fine, problem = all_fit(when.headers, ask.header)
    if not fine then
        return false, problem
    end
    return all_fit(when.query, ask.parameter)
end

-- More parameters than this are not looked at.
local MOST_PARAMETERS = 100

-- Answers of the request that is matched now: thousands of rules may ask for the same thing.
local answers = {}

-- Before the rules of a host are asked. To match them waits for nothing, so no other request comes between.
function _M.begin()
    answers = {}
end

-- Of the request that this worker serves now.
_M.of_request = {
    port = function()
        answers.port = answers.port or tonumber(ngx.var.server_port)
        return answers.port
    end,
    address = function()
        answers.address = answers.address or ngx.var.server_addr
        return answers.address
    end,
    method = function()
        answers.method = answers.method or ngx.req.get_method()
        return answers.method
    end,
    header = function(field)
        local value = answers[field.variable]
        if value == nil then
            value = ngx.var[field.variable] or false
            answers[field.variable] = value
        end
        return value or nil
    end,
    parameter = function(field)
        answers.parameters = answers.parameters or ngx.req.get_uri_args(MOST_PARAMETERS)
        local value = answers.parameters[field.name]
        if type(value) == "table" then
            value = value[1]
        end
        return value == true and "" or value
    end,
}

return _M
