-- What Lockstep answers itself, without an endpoint: a status, the reason for the access log, and a
-- sentence for whoever sees it. Nothing the client sent is ever part of it.
local _M = {}

local sentences = {
    ["address not allowed"] = "Requests from this address are not allowed here.",
    ["body too large"] = "The body of the request is larger than this route allows.",
    ["control character"] = "The request has a control character where none can be.",
    ["auth loop"] = "The authentication service of this route is behind an authentication service.",
    ["backslash decides the route"] = "With slashes for its backslashes the path leads elsewhere.",
    ["dot segment with a backslash"] = "The path has a dot segment beside a backslash.",
    ["dot segment with a parameter"] = "The path has a dot segment with a parameter.",
    ["filled in too long"] = "With what was asked for filled in, the address is too long.",
    ["no endpoints"] = "The service behind this route has no endpoint that could answer now.",
    ["no route"] = "No route leads anywhere from this host and path.",
    ["not permitted"] = "This request is not permitted.",
    ["nothing loaded yet"] = "The proxy has just started and does not know its routes yet.",
    ["parameter decides the route"] = "Without its parameters the path leads elsewhere.",
    ["password required"] = "A name and a password are required here.",
    ["rate limit"] = "Too many requests from this address; try again in a second.",
    ["regex limit"] = "The routes of this host take too long to compare with this path.",
    ["rewritten to a dot segment"] = "This path would be rewritten to one with a dot segment.",
    ["route closed"] = "This route is closed, because it asks for protection it cannot have.",
    ["sign-in required"] = "One has to sign in for this.",
    ["too many passwords"] = "Too many passwords are being tried here; try again later.",
    ["undecided"] = "The authentication service is not available.",
    ["wrong connection"] = "This connection is for another host.",
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

-- The location is well formed as a header: whoever made it let no control character in.
function _M.redirect(status, location)
    ngx.header.location = location
    return send(status, "redirect", "This is at another address.\n")
end

-- Nothing to say beyond the headers, which the caller has set.
function _M.no_content(reason)
    ngx.var.lockstep_reason = reason
    ngx.req.discard_body()
    return ngx.exit(ngx.HTTP_NO_CONTENT)
end

return _M
