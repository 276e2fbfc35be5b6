-- How pushed values are checked. A wrong value is an error with a sentence; batch.lua makes a
-- refusal of it.
local _M = {}

function _M.check(condition, message)
    if not condition then
        error({ problem = message })
    end
end

function _M.is_whole(value, least, most)
    return type(value) == "number" and value % 1 == 0 and value >= least and value <= most
end

return _M
