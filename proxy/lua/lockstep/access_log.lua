-- How many lines the access log takes: so many a second and worker, then only failures, and of these
-- again so many. A line with a long target counts as several, so that the bytes are bounded too. What
-- is left out is counted, and the next line says how much it was.
local _M = {}

-- Half a megabyte a second: more than anybody reads, and an hour fits on a disk.
local LINES_PER_SECOND = 1000
-- About as long as the rest of a line.
local TARGET_BYTES = 512

local second, lines, failures, suppressed = 0, 0, 0, 0

-- Once for each request, before its line would be written: says whether it will be.
function _M.limit(status)
    local now = ngx.time()
    if now ~= second then
        second, lines, failures = now, 0, 0
    end
    local cost = 1 + math.floor(#(ngx.var.request_uri or "") / TARGET_BYTES)
    if lines + cost <= LINES_PER_SECOND then
        lines = lines + cost
    elseif status >= 500 and failures + cost <= LINES_PER_SECOND then
        failures = failures + cost
    else
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
