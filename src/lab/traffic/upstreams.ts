// Which peers a proxy tried for a request, in order, as nginx writes `$upstream_addr`: addresses with
// ports, a comma between the tries. The proxies of the lab send it back in a header.
import type { Headers } from "../../environment/network.ts";

export const upstreamHeader = "x-upstream";

/** The addresses without their ports; names that are no address (no peer was found) are left out. */
export function upstreamAddresses(upstreams: string): readonly string[] {
  return upstreams
    .split(/,\s*|\s+:\s+/)
    .map((upstream) => /^\[?([\da-f.:]+?)\]?:\d+$/i.exec(upstream.trim())?.[1])
    .filter((address) => address !== undefined);
}

export function upstreamsOf(headers: Headers): readonly string[] {
  return upstreamAddresses(headers[upstreamHeader] ?? "");
}
