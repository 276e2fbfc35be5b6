-- How many lines the access log takes: so many a second and worker, then only failures, and of these
-- again so many. A line with a long target counts as several, so that the bytes are bounded too. Lines
-- that are left out are counted, and the next line has their number.
--
-- A namespace may have as many lines as are left: one alone gets half of them, two a third each. So a
-- flood of requests to one namespace, or to no route, leaves room for the lines of others.
local _M = {}

-- A megabyte a second: more than is ever read, and an hour fits on a disk.
local LINES_PER_SECOND = 2000
-- About as long as the rest of a line.
local TARGET_BYTES = 512

-- In this second: how many may still come, and by owner how many there were.
local function new_room()
    return { left = LINES_PER_SECOND, used = {} }
end

local second, suppressed = 0, 0
local lines, failures = new_room(), new_room()

local function take(room, owner, cost)
    local used = (room.used[owner] or 0) + cost
    if used > room.left then
        return false
    end
    room.used[owner] = used
    room.left = room.left - cost
    return true
end

-- Once for each request, before its line would be written: says whether it will be. The owner is the
-- namespace that the request is for; empty where no route leads anywhere.
function _M.limit(status, owner)
    local now = ngx.time()
    if now ~= second then
        second, lines, failures = now, new_room(), new_room()
    end
    local cost = 1 + math.floor(#(ngx.var.request_uri or "") / TARGET_BYTES)
    if not take(lines, owner, cost) and not (status >= 500 and take(failures, owner, cost)) then
        suppressed = suppressed + 1
        return false
    end
    ngx.var.lockstep_logged = "1"
    if suppressed > 0 then
        ngx.var.lockstep_suppressed = suppressed
        suppressed = 0
    end
    return true
end

return _M
