// Headers between Node's form and ours. Those that speak of the HTTP/1.1 connection and not of the
// exchange stay below this line, so that nothing above can come to depend on the protocol's version.
import type { IncomingHttpHeaders } from "node:http";
import type { Headers } from "../network.ts";

const connectionHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
]);

/**
 * Node has already lowered the names and joined most repeated headers. Of those that HTTP/2 has for the
 * request line only the host is kept.
 */
export function plainHeaders(headers: IncomingHttpHeaders): Headers {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || connectionHeaders.has(name)) continue;
    if (name.startsWith(":") && name !== ":authority") continue;
    plain[name === ":authority" ? "host" : name] =
      typeof value === "string" ? value : value.join(", ");
  }
  return plain;
}
