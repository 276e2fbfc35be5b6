-- Ends open connections to endpoints whose machine acknowledges nothing any more: it was switched off,
-- or the network to it is cut. nginx itself would wait for the answer until the read timeout. Once the
-- connection is closed it repeats the request at another endpoint.
--
-- A program that takes its time is no reason: its machine acknowledges what it receives. The kernel
-- sends unacknowledged data again after some 200 ms as a probe, and then after 200 ms more (later on
-- long ways) because its retransmission timer has run out; that is counted.
--
-- Requests that cannot be repeated register here. Their connections stay open, because the machine may
-- be back soon. Those of POSTs are known by an option of their sockets (see upstream.lua); of the others
-- only the endpoint is known, so all connections to it stay open.
local ffi = require("ffi")
local monotonic = require("lockstep.monotonic")
local rows = require("lockstep.rows")
local suspects = require("lockstep.suspects")

ffi.cdef([[
int getsockopt(int fd, int level, int option, void *value, unsigned int *length);
int getsockname(int fd, void *address, unsigned int *length);
int getpeername(int fd, void *address, unsigned int *length);
int shutdown(int fd, int how);
const char *inet_ntop(int family, const void *address, char *text, unsigned int size);
]])

local _M = {}

local SOL_SOCKET, SO_ACCEPTCONN = 1, 30
-- The kernel has this of a socket that nginx has bound to an address without a port.
local IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT = 0, 24
local IPPROTO_TCP, TCP_INFO, TCP_ESTABLISHED = 6, 11, 1
local AF_INET, AF_INET6 = 2, 10
local SHUT_BOTH = 2
local EBADF = 9

-- So often by the timer without an acknowledgement: after about 0.4 s on a network of short ways.
local RETRANSMISSIONS = 1
local LOOK_SECONDS = 0.1
-- File descriptors in one look, which then takes at most some 1 ms; the next one goes on from there.
local MOST_IN_A_LOOK = 2048
-- The lowest free number is given first, so beyond a gap like this there are hardly any.
local WIDEST_GAP = 1024
-- For a connection on short ways, where the endpoint's machine is busy.
local USUAL_CONNECT_MS = 150
-- The failure of a request follows at once, as an event of the closed connection.
local CUT_SECONDS = 5

-- The beginning of struct tcp_info. Its first bytes are the state, the congestion state and the
-- retransmissions; the smoothed round trip, in microseconds, is the last number here.
local INFO_BYTES, ROUND_TRIP = 72, 17
local info = ffi.new("unsigned char[?]", INFO_BYTES)
local info_numbers = ffi.cast("unsigned int *", info)
local flag = ffi.new("int[1]")
local address = ffi.new("unsigned char[28]")
local length = ffi.new("unsigned int[1]")
local text = ffi.new("char[64]")

-- Ports where clients connect; their connections have these as their own port.
local client_ports = {}
-- By endpoint, "address:port": { apart, mixed, slot, number, owner } of requests that cannot be
-- repeated: how many have connections apart from all others, and how many have not.
local unrepeatable = {}
-- Whether a connection that is apart was ever known by its socket: not every nginx sets the option.
local knows_apart = false
-- By file descriptor, the retransmissions when they were last looked at; nothing while there are none.
local known_retransmissions = {}
-- By endpoint, when its connections were ended.
local cut = {}
local next_fd = 0
-- The longest round trip to an endpoint in the last complete look, and in the one under way.
local longest_us, longest_so_far_us = 0, 0

-- Both forms of a socket address have the port in their third and fourth byte.
local function port_of(read, fd)
    length[0] = 28
    if read(fd, address, length) ~= 0 then
        return nil
    end
    return address[2] * 256 + address[3]
end

local function endpoint_of(fd)
    local port = port_of(ffi.C.getpeername, fd)
    local family = address[0] + address[1] * 256
    local from = family == AF_INET and 4 or family == AF_INET6 and 8
    if port == nil or not from or ffi.C.inet_ntop(family, address + from, text, 64) == nil then
        return nil
    end
    return ffi.string(text) .. ":" .. port
end

-- Nothing for a closed file descriptor; false for one that is no open TCP connection.
local function retransmissions_of(fd)
    length[0] = INFO_BYTES
    if ffi.C.getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, length) ~= 0 then
        if ffi.errno() == EBADF then
            return nil
        end
        return false
    end
    return info[0] == TCP_ESTABLISHED and info[2]
end

local function is_client(fd)
    return client_ports[port_of(ffi.C.getsockname, fd)] ~= nil
end

local function is_apart(fd)
    length[0] = 4
    local known = ffi.C.getsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, flag, length) == 0
    local is_bound = known and flag[0] ~= 0
    knows_apart = knows_apart or is_bound
    return is_bound
end

-- Whether the connection may belong to a request that cannot be repeated.
local function may_wait(fd, waiting)
    return is_apart(fd) or waiting.mixed > 0 or (waiting.apart > 0 and not knows_apart)
end

-- The request waits until the machine is back; others must avoid the endpoint.
local function mark(waiting)
    if rows.number_of(waiting.slot) == waiting.number and not suspects.is_suspect(waiting.slot) then
        suspects.mark(waiting.slot, waiting.owner)
    end
end

-- `is_news` when the kernel has just sent data again.
local function end_silent(fd, is_news)
    local endpoint = endpoint_of(fd)
    if endpoint == nil then
        return
    end
    local waiting = unrepeatable[endpoint]
    if waiting ~= nil and may_wait(fd, waiting) then
        -- Between two retransmissions, which are seconds later, the machine may have come back.
        if is_news then
            mark(waiting)
        end
        return
    end
    cut[endpoint] = monotonic.now()
    ffi.C.shutdown(fd, SHUT_BOTH)
end

-- Whether the kernel has sent data of the silent connection again since the last look.
local function is_news(fd, retransmissions)
    local before = known_retransmissions[fd]
    known_retransmissions[fd] = retransmissions
    return retransmissions ~= before
end

-- Looks at the next file descriptors; begins again after the last one.
local function look()
    local gap = 0
    for _ = 1, MOST_IN_A_LOOK do
        local retransmissions = retransmissions_of(next_fd)
        if retransmissions == nil then
            gap = gap + 1
        else
            gap = 0
        end
        if retransmissions then
            local round_trip_us = info_numbers[ROUND_TRIP]
            local is_longest = round_trip_us > longest_so_far_us
            local is_silent = retransmissions >= RETRANSMISSIONS
            if (is_longest or is_silent) and not is_client(next_fd) then
                longest_so_far_us = math.max(longest_so_far_us, round_trip_us)
                if is_silent then
                    end_silent(next_fd, is_news(next_fd, retransmissions))
                end
            end
        end
        if not retransmissions or retransmissions == 0 then
            known_retransmissions[next_fd] = nil
        end
        next_fd = next_fd + 1
        if gap == WIDEST_GAP then
            next_fd = 0
            longest_us, longest_so_far_us = longest_so_far_us, 0
            return
        end
    end
end

local function forget_old()
    local now = monotonic.now()
    for endpoint, at in pairs(cut) do
        if now - at > CUT_SECONDS then
            cut[endpoint] = nil
        end
    end
end

-- In every worker, when its sockets are open.
function _M.init_worker()
    for fd = 0, WIDEST_GAP do
        length[0] = 4
        local known = ffi.C.getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, flag, length) == 0
        if known and flag[0] ~= 0 then
            client_ports[port_of(ffi.C.getsockname, fd) or 0] = true
        end
    end
    local started, problem = ngx.timer.every(LOOK_SECONDS, function()
        look()
        forget_old()
    end)
    if not started then
        ngx.log(ngx.ERR, "cannot look for silent connections: ", problem)
    end
end

-- For a request that nginx would not repeat. Pass the endpoint to `finish` later, and again whether
-- its connection is apart from those of requests that are repeated.
function _M.begin(endpoint, slot, owner, has_own)
    local waiting = unrepeatable[endpoint]
    if waiting == nil then
        waiting = { apart = 0, mixed = 0 }
        unrepeatable[endpoint] = waiting
    end
    local kind = has_own and "apart" or "mixed"
    waiting[kind] = waiting[kind] + 1
    waiting.slot, waiting.number, waiting.owner = slot, rows.number_of(slot), owner
end

function _M.finish(endpoint, has_own)
    local waiting = unrepeatable[endpoint]
    local kind = has_own and "apart" or "mixed"
    waiting[kind] = waiting[kind] - 1
    if waiting.apart + waiting.mixed == 0 then
        unrepeatable[endpoint] = nil
    end
end

-- How long to wait for a connection where the open ones show how long the ways are: several times as
-- long as the longest of them, and long enough for a busy machine. Otherwise `most_ms`.
function _M.connect_ms(most_ms)
    if longest_us == 0 then
        return most_ms
    end
    return math.min(most_ms, USUAL_CONNECT_MS + 4 * longest_us / 1000)
end

-- Whether connections to the endpoint were just ended: a request that failed there failed by silence.
function _M.was_cut(endpoint)
    return cut[endpoint] ~= nil
end

return _M
