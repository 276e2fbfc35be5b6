-- Checks whether an endpoint accepts connections, with a connection of our own. With TLS, nginx
-- does not distinguish a refused connection from a failed handshake. Only the first concerns every
-- user of the endpoint; the second may be the fault of a route that uses TLS by mistake.
--
-- Invariant: a worker checks an endpoint at most once at a time, and an error affects no request
-- and no later check.
local rows = require("lockstep.rows")
local suspects = require("lockstep.suspects")

local _M = {}

-- As for requests (server.conf).
local PATIENCE_MS = 500
-- Of one owner. More than this fail at once only where a node has gone, of which the first ones tell
-- enough.
local MOST_OF_OWNER = 16
-- Of all owners: nginx runs 1024 timers at once, and copies of requests take up to 512 (mirror.lua).
local MOST_AT_ONCE = 192

-- By slot, the owner; by owner, how many.
local under_way, counts, count = {}, {}, 0

local function takes_connections(address, port)
    local socket = ngx.socket.tcp()
    socket:settimeout(PATIENCE_MS)
    local connected = socket:connect(address, port)
    if connected then
        socket:close()
    end
    return connected
end

local function look(owner, slot, number, address, port)
    -- The slot may have passed to another endpoint meanwhile.
    if not takes_connections(address, port) and rows.number_of(slot) == number then
        suspects.mark(slot, owner)
    end
end

-- A problem of the check harms no request, neither the failed one nor later ones. The next failure
-- starts another check.
local function complain(problem)
    ngx.log(ngx.ERR, "cannot ask an endpoint whether it takes connections: ", problem)
end

local function finish(slot)
    local owner = under_way[slot]
    under_way[slot] = nil
    counts[owner] = counts[owner] > 1 and counts[owner] - 1 or nil
    count = count - 1
end

local function ask(is_ending, slot, ...)
    local fine, problem = true, nil
    if not is_ending then
        fine, problem = pcall(look, under_way[slot], slot, ...)
    end
    finish(slot)
    if not fine then
        complain(problem)
    end
end

local function start(slot, address, port)
    return ngx.timer.at(0, ask, slot, rows.number_of(slot), address, port)
end

-- Marks the endpoint in the slot, a moment later, if it cannot be reached. The owner is the namespace
-- of the service whose request failed.
function _M.begin(owner, slot, address, port)
    local of_owner = counts[owner] or 0
    if under_way[slot] or slot == 0 or of_owner == MOST_OF_OWNER or count == MOST_AT_ONCE then
        return
    end
    under_way[slot] = owner
    counts[owner] = of_owner + 1
    count = count + 1
    local fine, started, problem = pcall(start, slot, address, port)
    if not (fine and started) then
        finish(slot)
        complain(fine and problem or started)
    end
end

return _M
