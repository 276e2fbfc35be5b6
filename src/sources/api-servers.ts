// Where a cluster's API servers are, by the endpoints of their own service: for a client that would
// rather talk to them directly.
import { serverAddresses } from "../kube/client/direct-client.ts";
import type { PublishedObjects } from "./published-watch.ts";

export function apiServersIn({
  slices,
  endpoints,
}: PublishedObjects): ReturnType<typeof serverAddresses> {
  const ofSlices = slices.map(({ endpoints: listed, ports }) => ({
    addresses: listed.flatMap(({ addresses }) => addresses.map((ip) => ({ ip }))),
    ports: ports.flatMap(({ name, port }) => (port === undefined ? [] : [{ name, port }])),
  }));
  return serverAddresses([...(endpoints?.subsets ?? []), ...ofSlices]);
}
