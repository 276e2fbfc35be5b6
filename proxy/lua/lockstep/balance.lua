-- Which endpoint of a service comes next. Pure: the same cases (proxy/cases/) hold for this and for
-- its twin in src/outputs/nginx/balancer.ts.
--
-- A service has flat arrays of addresses, ports and slots, the active endpoints first. Round robin
-- over the active ones that are not suspect; then over the draining ones, which still answer; then
-- over the suspects, because trying is better than refusing.
local _M = {}

-- The endpoints from `first` to `last`, once round, beginning at the cursor.
local function scan(service, first, last, cursor, tried, is_suspect, wants_suspect)
    local count = last - first + 1
    for step = 0, count - 1 do
        local position = (cursor + step) % count
        local index = first + position
        if not (tried and tried[index]) and is_suspect(service.slots[index]) == wants_suspect then
            return index, position + 1
        end
    end
    return nil
end

-- Active before draining.
local function by_state(service, cursor, tried, is_suspect, wants_suspect)
    local active, count = service.active, #service.addresses
    local index, next_cursor = scan(service, 1, active, cursor, tried, is_suspect, wants_suspect)
    if index == nil then
        index, next_cursor =
            scan(service, active + 1, count, cursor, tried, is_suspect, wants_suspect)
    end
    return index, next_cursor
end

-- The index of the endpoint to use, from 1, and the cursor for the next request; nothing when all
-- were tried. `tried` is a set of indexes, or nothing.
function _M.pick(service, cursor, tried, is_suspect)
    local index, next_cursor = by_state(service, cursor, tried, is_suspect, false)
    if index == nil then
        index, next_cursor = by_state(service, cursor, tried, is_suspect, true)
    end
    return index, next_cursor
end

return _M
