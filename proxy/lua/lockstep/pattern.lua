-- Regular expressions of users, matched within a bound. They are compiled once, live as long as the
-- rule they belong to, and run as machine code: PCRE's interpreter would recurse on the worker's
-- own stack, where a hostile expression could end the worker. `lua_regex_match_limit` in nginx.conf
-- ends a match that takes too long, which is an error here and never "no match": a rule that
-- protects a path must not be passed by making it slow.
local bit = require("bit")
local ffi = require("ffi")
local re = require("ngx.re")
local regex = require("resty.core.regex")

local _M = {}

-- Some patterns keep a note for every character of a path, which may have 8,000.
local STACK_BYTES = 512 * 1024
-- PCRE_EXTRA_EXECUTABLE_JIT, among the flags a compiled expression's study begins with.
local EXECUTABLE = 0x40
local NO_MATCH = -1

_M.LIMIT = "regex limit"

local function is_machine_code(compiled)
    if compiled.regex_sd == nil then
        return false
    end
    local flags = ffi.cast("unsigned long *", compiled.regex_sd)[0]
    return bit.band(tonumber(flags), EXECUTABLE) ~= 0
end

-- Before anything is compiled.
re.opt("jit_stack_size", STACK_BYTES)

-- The compiled form, or nothing and what is wrong.
local function compile(text, options)
    local compiled, problem, flags = regex.re_match_compile(text, options)
    if compiled == nil then
        return nil, problem
    end
    if not is_machine_code(compiled) then
        return nil, "it cannot be made into machine code"
    end
    return { compiled = compiled, flags = flags }
end

-- Anywhere in the subject, upper and lower case being different.
function _M.compile(text)
    return compile(text, "j")
end

-- From the start of a path on, whatever the case.
function _M.compile_path(text)
    return compile("^(?:" .. text .. ")", "ij")
end

-- Whether it matches; nothing and the problem when that took too long.
function _M.matches(pattern, subject)
    local compiled, flags = pattern.compiled, pattern.flags
    local found = ffi.C.ngx_http_lua_ffi_exec_regex(compiled, flags, subject, #subject, 0)
    if found > 0 then
        return true
    end
    if found == NO_MATCH then
        return false
    end
    return nil, _M.LIMIT
end

-- What its groups matched, by number and by name; false for one that took no part.
function _M.captures(pattern, subject)
    local compiled, flags = pattern.compiled, pattern.flags
    local found = ffi.C.ngx_http_lua_ffi_exec_regex(compiled, flags, subject, #subject, 0)
    if found <= 0 then
        return nil
    end
    return regex.collect_captures(compiled, found, subject, flags)
end

return _M
