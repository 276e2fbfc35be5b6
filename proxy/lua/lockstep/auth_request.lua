-- One request to an endpoint of a service, on its own connection: a small one, for the head of the
-- answer, which says whether another request may pass; or a copy of one, whose answer is ignored.
-- Nothing is kept, and everything is bounded. An endpoint that accepts no connection is marked for all routes, and another one is tried.
local balance = require("lockstep.balance")
local ffi = require("ffi")
local peer_list = require("lockstep.peer_list")
local rows = require("lockstep.rows")
local suspects = require("lockstep.suspects")

local _M = {}

-- As for requests.
local CONNECT_MS, SEND_MS, READ_MS = 500, 60000, 60000
local TRIES = 3
-- As much as nginx itself has room for in headers of endpoints that have many.
local MOST_HEAD_BYTES = 128 * 1024
-- Before the answer; more are no answer.
local MOST_INTERIM = 10
local INTERIM_BELOW = 200
-- Of an answer that is ignored, at once.
local PIECE_BYTES = 16 * 1024

-- A connection to an endpoint of the service, or nothing.
local function connect(service, connect_ms, send_ms, read_ms)
    local peers, tried = service.peers, {}
    for _ = 1, TRIES do
        local unpacked = peer_list.unpacked(service)
        local index, cursor = balance.pick(unpacked, peers.cursor, tried, suspects.is_suspect)
        if index == nil then
            return nil
        end
        peers.cursor = cursor or peers.cursor
        tried[index] = true
        local peer = peers.at[index - 1]
        local slot = peer.slot
        local number = rows.number_of(slot)
        suspects.try(slot)
        local socket = ngx.socket.tcp()
        socket:settimeouts(connect_ms, send_ms, read_ms)
        local address = ffi.string(peer.address, peer.address_length)
        local is_connected = socket:connect(address, peer.port)
        -- The slot may have passed to another endpoint meanwhile.
        local is_same = rows.number_of(slot) == number
        if is_connected then
            if is_same then
                suspects.clear(slot)
            end
            return socket
        end
        if is_same then
            suspects.mark(slot, service.owner)
        end
    end
    return nil
end

-- Header values by name in lower case; Set-Cookie is a list.
local function parse_headers(head)
    local headers = { ["set-cookie"] = {} }
    for line in head:gmatch("\r?\n([^\r\n]+)") do
        local name, value = line:match("^([%w!#$%%&'*+.^_`|~-]+):[ \t]*([^%c]-)[ \t]*$")
        name = name and name:lower()
        if name == "set-cookie" then
            table.insert(headers[name], value)
        elseif name ~= nil then
            headers[name] = headers[name] or value
        end
    end
    return headers
end

-- The status and the headers of the answer, or nothing.
local function read_head(socket)
    local reader = socket:receiveuntil("\r\n\r\n")
    for _ = 0, MOST_INTERIM do
        local head = reader(MOST_HEAD_BYTES)
        -- At the end of the head there is neither more nor a problem.
        local more, problem = nil, nil
        if head ~= nil then
            more, problem = reader(1)
        end
        local status = head and tonumber(head:match("^HTTP/1%.[01] (%d%d%d)%f[^%w]"))
        if status == nil or more ~= nil or problem ~= nil then
            return nil
        end
        if status >= INTERIM_BELOW then
            return status, parse_headers(head)
        end
    end
    return nil
end

-- Sends the text, a whole request, to the service (see state.lua), with TLS for this name if one is
-- given. The status and the headers of the answer; nothing when there is none.
function _M.ask(service, text, tls_name)
    local socket = connect(service, CONNECT_MS, SEND_MS, READ_MS)
    if socket == nil then
        return nil
    end
    local is_ready = tls_name == nil or socket:sslhandshake(nil, tls_name, false)
    local status, headers = nil, nil
    if is_ready and socket:send(text) then
        status, headers = read_head(socket)
    end
    socket:close()
    return status, headers
end

-- Sends the pieces of a request that asks for the end of the connection, and reads the answer up to
-- there. The limits are for connecting, sending and waiting, in milliseconds, and for the answer, in
-- bytes.
function _M.send(service, pieces, limits)
    local connect_ms, send_ms, read_ms, most_bytes = unpack(limits)
    local socket = connect(service, connect_ms, send_ms, read_ms)
    if socket == nil then
        return
    end
    local left = socket:send(pieces) and most_bytes or 0
    while left > 0 do
        local data = socket:receiveany(PIECE_BYTES)
        left = data and left - #data or 0
    end
    socket:close()
end

return _M
