-- Hosts where everything leads to one service and no more is asked for: most hosts. A request for one
-- finds the service's endpoints by the host's name and a number, in lists that lie close together. With
-- thousands of hosts their own tables are not in the processor's cache, and are not touched.
--
-- Invariant: a name is here only while its rules are what they were when it was added. The service may
-- have changed since: then its endpoints are stale.
local _M = {}

local numbers = {}
-- By number; false where none is.
local services, peers = {}, {}
local free_numbers = {}

-- The service and its endpoints, or nothing.
function _M.find(name)
    local number = numbers[name]
    local list = number and peers[number]
    if list and not list.is_stale then
        return services[number], list
    end
    return nil
end

function _M.add(name, service)
    local number = numbers[name] or table.remove(free_numbers) or #peers + 1
    numbers[name] = number
    services[number], peers[number] = service, service.peers
end

function _M.forget(name)
    local number = numbers[name]
    if number ~= nil then
        numbers[name] = nil
        services[number], peers[number] = false, false
        free_numbers[#free_numbers + 1] = number
    end
end

function _M.forget_all()
    numbers, services, peers, free_numbers = {}, {}, {}, {}
end

return _M
