-- The last state that Lockstep has saved, read once by the master before the workers start. An
-- nginx that comes back alone serves by it until Lockstep pushes again. Nothing in the file can
-- keep nginx from starting: inconsistent parts are left out, and logged as errors.
--
-- The first line describes the rest (src/outputs/nginx/snapshot-format.ts); each other line is a
-- push of one entry, or, after a #, not used here.
local batch = require("lockstep.batch")
local cjson = require("cjson")
local writer = require("lockstep.writer")

local _M = {}

local KIND = "lockstep state"
local FORMAT = 2
-- More than the shared memory could hold.
local MOST_BYTES = 192 * 1024 * 1024
-- By then its addresses may have passed to the pods of others.
local MOST_AGE_MS = 24 * 60 * 60 * 1000

local function read(path)
    local file = io.open(path, "rb")
    if file == nil then
        return nil
    end
    local size = file:seek("end")
    if size == nil or size > MOST_BYTES then
        file:close()
        return nil, "it is larger than any state"
    end
    file:seek("set")
    local text = file:read("*a")
    file:close()
    if text == nil then
        return nil, "it cannot be read"
    end
    return text
end

local function is_whole(value)
    return type(value) == "number" and value % 1 == 0
end

-- The lines after the first, or nothing and why.
local function lines_of(text, now_ms)
    local first, rest = text:match("^([^\n]*)\n(.*)$")
    local fine, header = pcall(cjson.decode, first or "")
    if not fine or type(header) ~= "table" or header.kind ~= KIND then
        return nil, "it is not a saved state"
    end
    if header.format ~= FORMAT then
        return nil, "it is of another version"
    end
    if header.bytes ~= #rest or header.crc32 ~= ngx.crc32_long(rest) then
        return nil, "it is incomplete or damaged"
    end
    if not is_whole(header.savedAtMs) or now_ms - header.savedAtMs > MOST_AGE_MS then
        return nil, "it is too old"
    end
    return rest
end

local function load(lines)
    local entries, refused = 0, 0
    for line in lines:gmatch("[^\n]+") do
        local is_entry = line:sub(1, 1) ~= "#"
        local values = is_entry and batch.parse(line)
        if values and writer.restore(values) then
            entries = entries + 1
        elseif is_entry then
            refused = refused + 1
        end
    end
    return entries, refused
end

-- True when nginx serves by it now.
function _M.load(path)
    local text, problem = read(path)
    local lines = nil
    if text ~= nil then
        lines, problem = lines_of(text, ngx.time() * 1000)
    end
    if lines == nil then
        if problem ~= nil then
            ngx.log(ngx.ERR, "the saved state ", path, " is not used: ", problem)
        end
        return false
    end
    local entries, refused = load(lines)
    if refused > 0 then
        ngx.log(ngx.ERR, refused, " entries of the saved state ", path, " are not used")
    end
    writer.restored()
    ngx.log(ngx.WARN, "serving with the saved state, ", entries, " entries, until the next push")
    return true
end

return _M
