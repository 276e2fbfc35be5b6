-- Whether a password is the one that a digest was made of. To compute one may take as long as a second,
-- so each worker has a thread of its own for it (nginx.conf), which does one after the other; when too
-- many wait for it, others are sent away. What was found right is not computed again. The thread reads
-- its code from the disk, which the user of the workers must be allowed.
local _M = {}

-- Some 100 bytes each. Beyond so many all are forgotten, and found again.
local MOST_RIGHT = 10000
-- The last of them waits half a minute where each takes a second.
local MOST_UNDER_WAY = 32
local POOL, MODULE = "passwords", "lockstep.password_digest"

-- By a digest of password and stored digest: they belong together.
local right, right_count = {}, 0
local under_way = 0
local complained = {}

local function remember(key)
    if right[key] then
        return
    end
    if right_count >= MOST_RIGHT then
        right, right_count = {}, 0
    end
    right[key] = true
    right_count = right_count + 1
end

-- Once in each worker for each thing that is wrong.
local function complain(problem)
    if not complained[problem] then
        complained[problem] = true
        ngx.log(ngx.ERR, "passwords cannot be checked: ", problem)
    end
end

-- True or false; nothing when it cannot be found out now.
function _M.is_right(password, stored)
    -- A string of C would end there.
    if string.find(password, "\0", 1, true) then
        return false
    end
    local key = ngx.sha1_bin(#stored .. ":" .. stored .. password)
    if right[key] then
        return true
    end
    if under_way >= MOST_UNDER_WAY then
        return nil
    end
    under_way = under_way + 1
    local fine, digest = ngx.run_worker_thread(POOL, MODULE, "like", stored, password)
    under_way = under_way - 1
    if not fine then
        complain(digest)
        return nil
    end
    if digest ~= stored then
        return false
    end
    remember(key)
    return true
end

return _M
