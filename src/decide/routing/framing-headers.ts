// Headers that say where a request ends and how its connection is used.

/** They would make another request of the one that passes; as in proxy/lua/lockstep/policy_entry.lua. */
export const framingHeaders: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
