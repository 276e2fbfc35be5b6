// Reads which endpoints were tried for which request from a proxy's access log in JSON, one object a
// line, as both of the lab's proxies write it: `target` is the request's path and query, `upstream`
// nginx's `$upstream_addr`. Lines that are no such object are passed over: a log may end in half of
// one. It shares nothing with `src/access-log`, because what that makes of a log is judged by this.
import { isRecord } from "../../kube/kinds/fields.ts";
import { upstreamAddresses } from "./upstreams.ts";

/** Addresses by target; traffic of the lab has a target of its own for every request. */
export function readAccessLog(text: string): ReadonlyMap<string, readonly string[]> {
  const upstreams = new Map<string, readonly string[]>();
  for (const line of text.split("\n")) {
    const entry = parse(line);
    if (!isRecord(entry)) continue;
    const { target, upstream } = { target: entry["target"], upstream: entry["upstream"] };
    if (typeof target !== "string" || typeof upstream !== "string") continue;
    upstreams.set(target, upstreamAddresses(upstream));
  }
  return upstreams;
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
