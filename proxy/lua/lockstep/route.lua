-- From host and path to a service. Pure: the same cases (proxy/cases/) hold for this and for its
-- twin in src/outputs/nginx/balancer.ts.
--
-- The host is looked up as it is, then with its first label as a wildcard, then as "*"; the first
-- that has a rule for the path decides. Within a host an Exact rule wins, then the longest Prefix,
-- compared element by element; a slash at the end of a Prefix makes no difference.
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

-- Rules as they are pushed → tables to look up in. The first of two equal rules stands.
function _M.compile(rules)
    local host = { exact = {}, prefix = {}, deepest = 0 }
    for _, rule in ipairs(rules) do
        if rule.type == "Exact" then
            host.exact[rule.path] = host.exact[rule.path] or rule.service
        else
            local path = without_slash_at_end(rule.path)
            host.prefix[path] = host.prefix[path] or rule.service
            host.deepest = math.max(host.deepest, element_count(path))
        end
    end
    return host
end

-- The first elements of a path: no rule has more of them than `deepest`, however long the path is.
local function cut(path, deepest)
    local from = 1
    for _ = 1, deepest + 1 do
        local slash = string.find(path, "/", from, true)
        if slash == nil then
            return path
        end
        from = slash + 1
    end
    return string.sub(path, 1, from - 2)
end

local function last_slash(path)
    for position = #path, 1, -1 do
        if string.byte(path, position) == SLASH then
            return position
        end
    end
    return nil
end

function _M.match(host, path)
    local exact = host.exact[path]
    if exact ~= nil then
        return exact
    end
    local candidate = cut(path, host.deepest)
    while true do
        local service = host.prefix[candidate]
        if service ~= nil then
            return service
        end
        local slash = last_slash(candidate)
        if slash == nil then
            return nil
        end
        candidate = string.sub(candidate, 1, slash - 1)
    end
end

-- `find_host` gives the compiled rules of a name, or nothing.
function _M.find(find_host, name, path)
    local host = find_host(name)
    local service = host and _M.match(host, path)
    if service then
        return service
    end
    local dot = string.find(name, ".", 1, true)
    host = dot and find_host("*" .. string.sub(name, dot))
    service = host and _M.match(host, path)
    if service then
        return service
    end
    host = find_host("*")
    return host and _M.match(host, path)
end

return _M
