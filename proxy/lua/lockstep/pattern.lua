-- Regular expressions of users, matched within a bound. They are compiled once, live as long as the
-- rule they belong to, and run as machine code: PCRE's interpreter would recurse on the worker's
-- own stack, where a hostile expression could end the worker. A match that takes too long is ended,
-- which is an error here and never "no match": a rule that protects a path must not be passed by
-- making it slow.
local bit = require("bit")
local ffi = require("ffi")
local re = require("ngx.re")
local regex = require("resty.core.regex")
local steps = require("lockstep.pattern_steps")

local _M = {}

-- Some patterns keep a note for every character of a path, which may have 8,000.
local STACK_BYTES = 512 * 1024
-- PCRE_EXTRA_EXECUTABLE_JIT and PCRE_EXTRA_MATCH_LIMIT, among the flags a compiled expression's study
-- begins with; and where among its words the limit is.
local EXECUTABLE = 0x40
local LIMITED = 0x02
local LIMIT_WORD = 2
local NO_MATCH = -1

-- Between two steps that PCRE counts it looks at each character of the subject a few times at most (see
-- pattern_steps.lua), a nanosecond each. As many steps are let it as make this many characters.
local MOST_LOOKS = 2e7
-- However short the subject is: a step takes some nanoseconds even if it looks at nothing.
local MOST_STEPS = 30000

-- "Anywhere" means a search from each character, and PCRE counts the steps of each search
-- separately. An ordinary expression needs some steps for each, and gets them if the header has an
-- ordinary length.
local LEAST_STEPS = 16
local USUAL_HEADER = 2048
-- Characters that a step without a repetition reads.
local FEW_LOOKS = 32

_M.LIMIT = "regex limit"

-- The words of its study, if it was made into machine code.
local function study_of(compiled)
    if compiled.regex_sd == nil then
        return nil
    end
    local study = ffi.cast("unsigned long *", compiled.regex_sd)
    local flags = tonumber(study[0])
    if bit.band(flags, EXECUTABLE) == 0 then
        return nil
    end
    study[0] = bit.bor(flags, LIMITED)
    study[LIMIT_WORD] = MOST_STEPS
    return study
end

-- Before anything is compiled.
re.opt("jit_stack_size", STACK_BYTES)

-- The compiled form, or nothing and what is wrong.
local function compile(text, options)
    local compiled, problem, flags = regex.re_match_compile(text, options)
    if compiled == nil then
        return nil, problem
    end
    local study = study_of(compiled)
    if study == nil then
        return nil, "it cannot be made into machine code"
    end
    return { compiled = compiled, flags = flags, study = study }
end

-- One of our own, which needs no more than MOST_STEPS. Anywhere in the subject, upper and lower case
-- being different.
function _M.compile_own(text)
    return compile(text, "j")
end

-- Anywhere in the subject, upper and lower case being different.
function _M.compile(text)
    local pattern, problem = compile(steps.added(text), "j")
    if pattern ~= nil then
        pattern.looks = MOST_LOOKS
        pattern.is_anywhere = true
        pattern.repeats = text:find("[*+{]") ~= nil
    end
    return pattern, problem
end

-- From the start of a path on, whatever the case. It shares its time with others: `count` in all.
function _M.compile_path(text, count)
    local pattern, problem = compile(steps.added("^(?:" .. text .. ")"), "ij")
    if pattern ~= nil then
        pattern.looks = MOST_LOOKS / (count or 1)
    end
    return pattern, problem
end

local function steps_for(pattern, length)
    if not pattern.is_anywhere then
        return pattern.looks / length
    end
    local most = pattern.looks / length / (pattern.repeats and length or FEW_LOOKS)
    return length <= USUAL_HEADER and math.max(most, LEAST_STEPS) or most
end

-- False when not even one step is left.
local function limit_steps(pattern, subject)
    local most = steps_for(pattern, math.max(#subject, 1))
    pattern.study[LIMIT_WORD] = math.min(most, MOST_STEPS)
    return most >= 1
end

-- Whether it matches; nothing and the problem when that took too long.
function _M.matches(pattern, subject)
    if pattern.looks ~= nil and not limit_steps(pattern, subject) then
        return nil, _M.LIMIT
    end
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

-- The matches of its groups, by number and by name; false for a group without a match.
function _M.captures(pattern, subject)
    local compiled, flags = pattern.compiled, pattern.flags
    local found = ffi.C.ngx_http_lua_ffi_exec_regex(compiled, flags, subject, #subject, 0)
    if found <= 0 then
        return nil
    end
    return regex.collect_captures(compiled, found, subject, flags)
end

return _M
