-- The rules of one host as they are pushed, checked. A rule that is wrong refuses its host, and the
-- pusher finds out which host that is.
local cjson = require("cjson")
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

local function rule_of(rule)
    check(type(rule) == "table", "a rule must be an object")
    check_path(rule)
    check(type(rule.service) == "string", "a rule must name its service")
    local policy = rule.policy
    if policy ~= nil then
        check(policy ~= cjson.null, "a policy must be an object or absent")
        policy = policy_entry.parse(policy)
    end
    check(rule.isForAll == nil or rule.isForAll == true, "isForAll is true or absent")
    return {
        path = rule.path,
        type = rule.type,
        service = rule.service,
        policy = policy,
        isForAll = rule.isForAll,
    }
end

function _M.parse(value)
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
