// Which location of which server answers a request, by nginx's rules: the exact host, else the
// wildcard of one label, else the server for any host; the exact path, else the longest prefix.
import { anyHost, type StockLocation, type StockServer } from "../stock-configuration.ts";

export function findLocation(
  servers: readonly StockServer[],
  hostHeader: string,
  target: string,
): StockLocation | undefined {
  const host = hostHeader.replace(/:\d+$/, "").toLowerCase();
  const wildcard = host.replace(/^[^.]+/, "*");
  const named = (name: string): StockServer | undefined =>
    servers.find(({ hostname }) => hostname === name);
  const server = named(host) ?? named(wildcard) ?? named(anyHost);
  const path = target.replace(/[?#].*$/, "");
  return server === undefined ? undefined : bestOf(server.locations, path);
}

function bestOf(locations: readonly StockLocation[], path: string): StockLocation | undefined {
  let best: StockLocation | undefined;
  for (const location of locations) {
    if (location.match === "exact") {
      if (location.path === path) return location;
    } else if (path.startsWith(location.path)) {
      if (best === undefined || location.path.length > best.path.length) best = location;
    }
  }
  return best;
}
