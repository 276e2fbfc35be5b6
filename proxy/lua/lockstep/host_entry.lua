-- One host as it is pushed, checked: its rules; or the name of another host, whose rules it has; or
-- false, when it was left out for want of memory and every request is answered with 503. A rule names
-- its policy, which is an entry of its own. A rule that is wrong refuses its host, and the pusher finds
-- out which host that is.
local checks = require("lockstep.checks")
local pattern = require("lockstep.pattern")
local policy_entry = require("lockstep.policy_entry")

local check = checks.check

local _M = {}

-- More than one push holds.
local MOST_RULES = 10000
-- Tried one after the other. As maxRegexesPerHost in src/decide/routing/host-rules.ts.
local MOST_REGEXES = 128
local MOST_PATH = 4096
local MOST_REGEX = 512
-- Longer than any host or key of a policy.
local MOST_NAME = 1024

-- Characters that the path of a cookie may contain.
local COOKIE_PATH = "^/[\33-\58\60-\126]*$"

local types = { Exact = true, Prefix = true, Regex = true }

local function check_path(rule)
    local path = rule.path
    check(type(path) == "string" and path:sub(1, 1) == "/", "a path must begin with a slash")
    check(#path <= MOST_PATH, "a path is too long")
    check(types[rule.type] == true, "a rule is Exact, Prefix or Regex")
    if rule.type == "Regex" then
        check(#path <= MOST_REGEX, "a regular expression is too long")
        local compiled, problem = pattern.compile_path(path)
        check(compiled ~= nil, "a regular expression cannot be compiled: " .. (problem or ""))
    end
end

local function is_name(value)
    return type(value) == "string" and #value <= MOST_NAME
end

local function rule_of(rule)
    check(type(rule) == "table", "a rule must be an object")
    check_path(rule)
    check(type(rule.service) == "string", "a rule must name its service")
    check(rule.policy == nil or is_name(rule.policy), "a rule must name its policy or have none")
    local is_cookie_path = rule.isCookiePath
    check(is_cookie_path == nil or is_cookie_path == true, "isCookiePath is true or absent")
    check(not is_cookie_path or rule.path:find(COOKIE_PATH), "a path cannot be that of a cookie")
    check(rule.holder == nil or is_name(rule.holder), "holder is a namespace or absent")
    check(rule.isForAll == nil or rule.isForAll == true, "isForAll is true or absent")
    return {
        path = rule.path,
        type = rule.type,
        service = rule.service,
        policy = rule.policy,
        canaries = rule.canaries ~= nil and policy_entry.canaries(rule.canaries) or nil,
        isCookiePath = is_cookie_path,
        isForAll = rule.isForAll,
        holder = rule.holder,
        when = rule.when ~= nil and policy_entry.when(rule.when) or nil,
    }
end

function _M.parse(value)
    if value == false or is_name(value) then
        return value
    end
    check(type(value) == "table", "the rules of a host must be a list")
    local count, regexes, rules = 0, 0, {}
    for _ in pairs(value) do
        count = count + 1
    end
    check(count == #value and count <= MOST_RULES, "the rules of a host are too many or no list")
    for index = 1, count do
        rules[index] = rule_of(value[index])
        if rules[index].type == "Regex" then
            regexes = regexes + 1
        end
    end
    check(regexes <= MOST_REGEXES, "a host has too many regular expressions")
    return rules
end

return _M
