-- Checks a password against a digest. That may take up to a second, so each worker has a thread for
-- it (nginx.conf), which computes one at a time. Owners take turns, so that a flood at the routes
-- of one namespace delays another's sign-ins by one turn only. Each owner has a bounded number of
-- waiting places; requests above it get no answer. Correct passwords are cached. The thread reads
-- its code from the disk, so the user of the workers needs permission for it.
--
-- Invariant: `waiting` has an owner in `order` exactly while its list is not empty, and requests
-- wait only while a turn is running.
local semaphore = require("ngx.semaphore")

local _M = {}

-- Of all owners, some 100 bytes each. Beyond so many the owner that has the most forgets its own.
local MOST_RIGHT = 10000
-- Of one owner. The last of them waits half a minute where each takes a second and no other owner
-- waits.
local MOST_WAITING = 32
-- How long a request waits at most, which is longer than a client waits. A turn that has run for so
-- long ended with its request.
local PATIENCE_SECONDS = 60
local POOL, MODULE = "passwords", "lockstep.password_digest"

-- By owner: how many were found right, and which, by a digest of password and stored digest, for
-- these belong together.
local right, right_count = {}, 0
-- By owner, the semaphores of those that wait, oldest first; and the owners, the next one first.
local waiting, order = {}, {}
-- Since when a turn is under way; nothing while the thread is free.
local busy_since = nil
local complained = {}

local function forget_of_largest()
    local largest = nil
    for owner, found in pairs(right) do
        if largest == nil or found.count > right[largest].count then
            largest = owner
        end
    end
    right_count = right_count - right[largest].count
    right[largest] = nil
end

local function remember(owner, key)
    local found = right[owner]
    if found ~= nil and found.keys[key] then
        return
    end
    if right_count >= MOST_RIGHT then
        forget_of_largest()
    end
    found = right[owner] or { count = 0, keys = {} }
    right[owner] = found
    found.keys[key] = true
    found.count = found.count + 1
    right_count = right_count + 1
end

-- Once in each worker for each thing that is wrong.
local function complain(problem)
    if not complained[problem] then
        complained[problem] = true
        ngx.log(ngx.ERR, "passwords cannot be checked: ", problem)
    end
end

-- The request whose turn is next; nil if none waits. Its owner goes to the end.
local function next_waiting()
    while #order > 0 do
        local owner = table.remove(order, 1)
        local list = waiting[owner]
        local one = table.remove(list, 1)
        if #list > 0 then
            order[#order + 1] = owner
        else
            waiting[owner] = nil
        end
        -- A request that ended, or lost patience, waits no more.
        if one:count() < 0 then
            return one
        end
    end
    return nil
end

-- Whether the thread is this request's, which then has to call `end_turn`; not when too many wait.
local function take_turn(owner)
    if busy_since == nil or ngx.now() - busy_since > PATIENCE_SECONDS then
        busy_since = ngx.now()
        return true
    end
    local list = waiting[owner]
    if list == nil then
        list = {}
        waiting[owner] = list
        order[#order + 1] = owner
    elseif #list >= MOST_WAITING then
        return false
    end
    local turn = semaphore.new()
    list[#list + 1] = turn
    -- It may come in the moment in which patience ends.
    return turn:wait(PATIENCE_SECONDS) or turn:wait(0)
end

-- The thread passes to the next request directly, so no other can come between.
local function end_turn()
    local one = next_waiting()
    busy_since = one and ngx.now()
    if one ~= nil then
        one:post()
    end
end

-- True or false; nothing when it cannot be found out now. The owner is the one whose places it takes.
function _M.is_right(owner, password, stored)
    -- A string of C would end there.
    if string.find(password, "\0", 1, true) then
        return false
    end
    local key = ngx.sha1_bin(#stored .. ":" .. stored .. password)
    if right[owner] and right[owner].keys[key] then
        return true
    end
    if not take_turn(owner) then
        return nil
    end
    local fine, digest = ngx.run_worker_thread(POOL, MODULE, "like", stored, password)
    end_turn()
    if not fine then
        complain(digest)
        return nil
    end
    if digest ~= stored then
        return false
    end
    remember(owner, key)
    return true
end

return _M
