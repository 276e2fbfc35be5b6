-- Answers of Lockstep itself, without an endpoint: a status, the reason for the access log, and a
-- sentence for the client. Nothing that the client sent is part of it.
local _M = {}

local sentences = {
    ["address not allowed"] = "Requests from this address are not allowed here.",
    ["body too large"] = "The body of the request is larger than this route allows.",
    ["control character"] = "The request contains a control character that is not allowed.",
    ["auth loop"] = "The authentication service of this route needs authentication itself.",
    ["backslash decides the route"] = "The path is ambiguous because it contains a backslash.",
    ["dot segment with a backslash"] = "The path contains a dot segment next to a backslash.",
    ["dot segment with a parameter"] = "The path contains a dot segment with a parameter.",
    ["filled in too long"] = "The address is too long after its variables are replaced.",
    ["no endpoints"] = "The service of this route has no available endpoint.",
    ["no route"] = "No route matches this host and path.",
    ["not a valid route"] = "This route is not valid; the status of its object says why.",
    ["not permitted"] = "This request is not permitted.",
    ["nothing loaded yet"] = "The proxy has just started and has no routes yet.",
    ["parameter decides the route"] = "The path is ambiguous because it contains parameters.",
    ["password required"] = "A user name and a password are required.",
    ["rate limit"] = "Too many requests from this address; try again in a second.",
    ["regex limit"] = "Matching this path against the routes of this host takes too long.",
    ["rewritten to a dot segment"] = "The rewritten path would contain a dot segment.",
    ["route closed"] = "This route is closed because its access protection cannot be set up.",
    ["sign-in required"] = "Sign-in is required.",
    ["too many passwords"] = "Too many password attempts; try again later.",
    ["undecided"] = "The authentication service is not available.",
    ["wrong connection"] = "This connection belongs to another host.",
}

local function send(status, reason, text)
    ngx.var.lockstep_reason = reason
    -- Or an unread body would be taken for the next request of the connection.
    ngx.req.discard_body()
    ngx.status = status
    ngx.header.content_type = "text/plain; charset=utf-8"
    ngx.header.content_length = #text
    ngx.print(text)
    return ngx.exit(ngx.HTTP_OK)
end

-- Ends the request: nothing after it runs.
function _M.refuse(status, reason)
    -- To discard a body that waits to be asked for is to ask for it. nginx's own page does not.
    if ngx.var.http_expect ~= nil then
        ngx.var.lockstep_reason = reason
        return ngx.exit(status)
    end
    return send(status, reason, (sentences[reason] or reason) .. "\n")
end

-- The location is a valid header: its maker lets no control character in.
function _M.redirect(status, location)
    ngx.header.location = location
    return send(status, "redirect", "Moved to another address.\n")
end

-- Nothing to say beyond the headers, which the caller has set.
function _M.no_content(reason)
    ngx.var.lockstep_reason = reason
    ngx.req.discard_body()
    return ngx.exit(ngx.HTTP_NO_CONTENT)
end

return _M
