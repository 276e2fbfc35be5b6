-- From host and path to a rule. Pure: the same cases (proxy/cases/) hold for this and for its twin
-- in src/outputs/nginx/route-match.ts.
--
-- The host is looked up as it is, then with its first label as a wildcard, then as "*"; the first
-- that has a rule for the path decides. The rule must be of the namespace that has the first of these
-- hosts, or be for all: pages of one host trust each other. Within a host an Exact rule wins; else, of the Prefix
-- rules, compared element by element, and the Regex rules, the one whose path is the longest text.
-- A slash at the end of a Prefix makes no difference.
--
-- Rules of one path may ask for more than the path (conditions.lua): the first that holds decides, and
-- where none does, the rules of shorter paths are tried. Only hosts that have such a rule are looked
-- through like this.
--
-- After the wildcard of its first label a host is looked up under names like "**.example.com", which
-- stand for any number of labels.
local conditions = require("lockstep.conditions")
local pattern = require("lockstep.pattern")

local _M = {}

local SLASH = string.byte("/")

-- "/a/b/" → "/a/b"; "/" → "".
local function without_slash_at_end(path)
    local last = #path
    while last > 0 and string.byte(path, last) == SLASH do
        last = last - 1
    end
    return string.sub(path, 1, last)
end

local function element_count(path)
    local _, count = string.gsub(path, "/", "/")
    return count
end

local function longer_text_first(one, other)
    if #one.path ~= #other.path then
        return #one.path > #other.path
    end
    return one.path < other.path
end

-- Most hosts have neither exact paths nor regular expressions: they share one table, which is always
-- in the processor's cache.
local NONE = {}

local function regex_count(rules)
    local count = 0
    for _, rule in ipairs(rules) do
        count = count + (rule.type == "Regex" and 1 or 0)
    end
    return count
end

-- Rules of one path that ask for more, in the order in which they are tried. Nothing comes after one
-- that asks for no more.
local function follow(first, rule)
    local last = first.last or first
    if last.when ~= nil then
        last.otherwise = rule
        first.last = rule
    end
end

local function put(rules, path, rule)
    if rules[path] == nil then
        rules[path] = rule
    else
        follow(rules[path], rule)
    end
end

local function own(rules)
    return rules == NONE and {} or rules
end

-- Whether all paths of a host lead to the same rule.
local function is_alike(host)
    return not host.is_conditional and host.exact == NONE and host.regexes == NONE and host.deepest == 0
end

-- A rule that is alone is its own host: what is one small table is found sooner than what is three.
-- Of a rule without a policy only the service is asked for; `held` and `peers` are for state.lua.
local function alone(rule)
    if rule.policy == nil then
        local is_for_all = rule.isForAll
        rule = { service = rule.service, only = true, held = false, peers = false, holder = rule.holder }
        rule.isForAll = is_for_all
    end
    rule.only = rule
    return rule
end

-- A host in which everything leads to this rule.
function _M.of_everything(rule)
    return { exact = NONE, prefix = { [""] = rule, ["*"] = rule }, regexes = NONE, deepest = 0 }
end

-- Ingresses lead to services of their own namespace; others name the one that has the host.
function _M.namespace_of(rule)
    return rule.holder or string.match(rule.service, "^([^/]*)/") or ""
end

-- The namespace of a host that is compiled; where several share it, that of its first rule.
function _M.owner_of(host)
    local rule = host.only or host.first
    return rule and _M.namespace_of(rule) or ""
end

-- Rules as they are pushed → tables to look up in. The first of two equal rules stands. The rules
-- become their own compiled form; `prepare` is called, with the host's name, for each that has a
-- policy.
function _M.compile(rules, prepare, name)
    local host = { exact = NONE, prefix = {}, regexes = NONE, deepest = 0, first = rules[1] }
    local seen, count, namespaces = {}, regex_count(rules), {}
    for _, rule in ipairs(rules) do
        local path = rule.path
        if rule.when ~= nil then
            host.is_conditional = true
            if rule.when.isListener then
                host.listeners = host.listeners or {}
                table.insert(host.listeners, rule.when)
            end
            conditions.prepare(rule.when)
        end
        if rule.type == "Exact" then
            host.exact = own(host.exact)
            put(host.exact, path, rule)
        elseif rule.type == "Prefix" then
            path = without_slash_at_end(path)
            rule.path = path == "" and "/" or path
            put(host.prefix, path, rule)
            host.deepest = math.max(host.deepest, element_count(path))
        elseif seen[path] then
            follow(seen[path], rule)
            rule.pattern = seen[path].pattern
        else
            seen[path] = rule
            rule.pattern = pattern.compile_path(path, count)
            host.regexes = own(host.regexes)
            host.regexes[#host.regexes + 1] = rule
        end
        namespaces[_M.namespace_of(rule)] = true
        if rule.policy ~= nil and prepare ~= nil then
            prepare(rule, name)
        end
    end
    table.sort(host.regexes, longer_text_first)
    local rule = host.prefix[""]
    if rule ~= nil and is_alike(host) then
        return alone(rule)
    end
    -- A host that leaves nothing open has no use for them.
    host.namespaces = (rule == nil or host.is_conditional) and namespaces or nil
    return host
end

-- From the first element to the deepest that any rule has, however long the path is. The calls are
-- no loop on purpose: LuaJIT gives up on loops that end after a turn or two, and with them on all that
-- leads there.
local function descend(prefix, path, from, deepest, best)
    if deepest == 0 then
        return best
    end
    local slash = string.find(path, "/", from, true)
    if slash == nil then
        return prefix[path] or best
    end
    local found = prefix[string.sub(path, 1, slash - 1)] or best
    return descend(prefix, path, slash + 1, deepest - 1, found)
end

local function longest_prefix(host, path)
    -- Nothing but "*", which asks about the server as a whole, begins otherwise.
    if string.byte(path) ~= SLASH then
        return host.prefix[path]
    end
    return descend(host.prefix, path, 2, host.deepest, host.prefix[""])
end

-- The Regex rule that matches and is longer text than the Prefix rule, else that one.
local function longer_regex(regexes, path, prefix)
    local least = prefix == nil and 0 or #prefix.path
    for index = 1, #regexes do
        local rule = regexes[index]
        if #rule.path <= least then
            return prefix
        end
        local matched, problem = pattern.matches(rule.pattern, path)
        if matched then
            return rule
        end
        if problem ~= nil then
            return nil, problem
        end
    end
    return prefix
end

-- The first rule of a path that holds; or nothing, and a problem when that took too long.
local function first_holding(rule, ask, path)
    while rule do
        if rule.when == nil then
            return rule
        end
        local holds, problem = conditions.hold(rule.when, ask, path)
        if holds then
            return rule
        end
        if problem ~= nil then
            return nil, problem
        end
        rule = rule.otherwise
    end
    return nil
end

-- Of the elements of a path, as many as any Prefix rule has, where each ends.
local function ends_of(path, deepest)
    local ends, from = {}, 2
    for depth = 1, deepest do
        local slash = string.find(path, "/", from, true)
        ends[depth] = slash and slash - 1 or #path
        if slash == nil then
            break
        end
        from = slash + 1
    end
    return ends
end

local function longest_holding_prefix(host, path, ask)
    if string.byte(path) ~= SLASH then
        return first_holding(host.prefix[path], ask, path)
    end
    local ends = ends_of(path, host.deepest)
    for depth = #ends, 1, -1 do
        local rule, problem = first_holding(host.prefix[string.sub(path, 1, ends[depth])], ask, path)
        if rule ~= nil or problem ~= nil then
            return rule, problem
        end
    end
    return first_holding(host.prefix[""], ask, path)
end

local function longer_holding_regex(regexes, path, prefix, ask)
    local least = prefix == nil and 0 or #prefix.path
    for index = 1, #regexes do
        local rule = regexes[index]
        if #rule.path <= least then
            return prefix
        end
        local matched, problem = pattern.matches(rule.pattern, path)
        if matched then
            rule, problem = first_holding(rule, ask, path)
        end
        if problem ~= nil then
            return nil, problem
        end
        if matched and rule ~= nil then
            return rule
        end
    end
    return prefix
end

-- As `match`, where rules ask for more than a path.
local function match_conditional(host, path, ask)
    conditions.begin()
    local rule, problem = first_holding(host.exact[path], ask, path)
    if rule ~= nil or problem ~= nil then
        return rule, problem
    end
    rule, problem = longest_holding_prefix(host, path, ask)
    if problem ~= nil then
        return nil, problem
    end
    return longer_holding_regex(host.regexes, path, rule, ask)
end

local function match(host, path, ask)
    local only = host.only
    if only ~= nil then
        return string.byte(path) == SLASH and only or nil
    end
    if host.is_conditional then
        return match_conditional(host, path, ask)
    end
    local exact = host.exact[path]
    if exact ~= nil then
        return exact
    end
    local prefix = longest_prefix(host, path)
    if host.regexes[1] == nil then
        return prefix
    end
    return longer_regex(host.regexes, path, prefix)
end

-- "a.b.c" → "*.b.c"; nothing where there is no first label to leave out.
function _M.wildcard_of(name)
    local dot = string.find(name, ".", 1, true)
    return dot and "*" .. string.sub(name, dot)
end

-- Whether a rule may serve what a host of these namespaces leaves open; without them it is no other's.
local function may_serve(rule, namespaces)
    return namespaces == nil or rule.isForAll or namespaces[_M.namespace_of(rule)]
end

-- "a.b.c" → "**.b.c", "b.c" → "**.c": the name that stands for all under it, and the rest of the name.
function _M.deep_wildcard_of(name)
    local dot = string.find(name, ".", 1, true)
    if dot == nil then
        return nil
    end
    return "**" .. string.sub(name, dot), string.sub(name, dot + 1)
end

local function is_listener(host, ask)
    for index = 1, host and host.listeners and #host.listeners or 0 do
        if conditions.hold(host.listeners[index], ask) then
            return true
        end
    end
    return false
end

-- The name of the listener of a Gateway that has requests for this name, at the port and the address
-- where the request came in; "*" where none has a name that fits.
function _M.listener_of(find_host, name, ask)
    if is_listener(find_host(name), ask) then
        return name
    end
    local wildcard = _M.wildcard_of(name)
    if wildcard and is_listener(find_host(wildcard), ask) then
        return wildcard
    end
    local deep, rest = _M.deep_wildcard_of(name)
    while deep do
        if is_listener(find_host(deep), ask) then
            -- The same listener as under its other name.
            return string.sub(deep, 2)
        end
        deep, rest = _M.deep_wildcard_of(rest)
    end
    return "*"
end

-- The rule; or nothing, and a problem when it could not be found out. `find_host` gives the
-- compiled rules of a name, or nothing; `ask` reads the request (conditions.lua).
function _M.find(find_host, name, path, ask)
    local rule, problem, namespaces
    local host = find_host(name)
    if host then
        rule, problem = match(host, path, ask)
        if rule or problem then
            return rule, problem
        end
        namespaces = host.namespaces
    end
    local wildcard = _M.wildcard_of(name)
    host = wildcard and find_host(wildcard)
    if host then
        rule, problem = match(host, path, ask)
        if problem or rule and may_serve(rule, namespaces) then
            return rule, problem
        end
        namespaces = namespaces or host.namespaces
    end
    local deep, rest = _M.deep_wildcard_of(name)
    while deep do
        host = find_host(deep)
        if host then
            rule, problem = match(host, path, ask)
            if problem or rule and may_serve(rule, namespaces) then
                return rule, problem
            end
            namespaces = namespaces or host.namespaces
        end
        deep, rest = _M.deep_wildcard_of(rest)
    end
    host = find_host("*")
    if host then
        rule, problem = match(host, path, ask)
        if problem or rule and may_serve(rule, namespaces) then
            return rule, problem
        end
    end
    return nil
end

return _M
