-- The data of a request from one phase to the next, as ngx.ctx. Tables are reused: for new ones the
-- garbage collector would search everything that a worker has decoded.
--
-- Invariant: a context is either in `free` or some request's, from its access phase to its log phase.
local _M = {}

-- More requests than are usually under way.
local MOST_FREE = 1024
local free, free_count = {}, 0

-- All fields are there from the beginning, so that the table never grows.
local function new()
    return {
        service = false,
        peers = false, -- of the service
        policy = false,
        headers = false, -- changes of them for this service
        generation = 0,
        index = 0, -- of the endpoint in use
        slot = 0,
        tries = 0,
        tried = false, -- keys of endpoints (see peer_list.lua)
        is_measured = false,
        is_under_way = false,
        is_unrepeatable = false, -- by nginx, once it was sent
        is_apart = false, -- and its connections are apart (see upstream.lua)
        is_late = false, -- no time was left for another try
        waits_for = false, -- the endpoint of a request that cannot be repeated
        session = false,
        hash_key = false,
        tls_block = false,
    }
end

function _M.take(service, peers, policy, generation)
    local context
    if free_count > 0 then
        context = free[free_count]
        free_count = free_count - 1
    else
        context = new()
    end
    context.service, context.peers = service, peers
    context.policy, context.generation = policy, generation
    return context
end

function _M.give_back(context)
    if free_count == MOST_FREE then
        return
    end
    context.service, context.peers, context.policy = false, false, false
    context.headers = false
    context.tries, context.tried = 0, false
    context.is_measured, context.is_under_way, context.is_late = false, false, false
    context.session, context.hash_key, context.tls_block = false, false, false
    free_count = free_count + 1
    free[free_count] = context
end

return _M
