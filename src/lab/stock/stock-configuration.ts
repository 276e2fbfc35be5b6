// What stock wants its proxy to do, as data: which hosts and paths lead to which backend, and the
// endpoints of each. Everything is in one fixed order, so that two configurations that mean the same
// are equal. The one decision of the model is here: what a difference costs.

export interface StockEndpoint {
  readonly address: string;
  readonly port: number;
}

export interface StockBackend {
  /** `namespace-service-port`. */
  readonly name: string;
  readonly endpoints: readonly StockEndpoint[];
}

/** A location as nginx matches it: the exact one first, else the longest prefix. */
export interface StockLocation {
  readonly match: "exact" | "prefix";
  readonly path: string;
  /** The name of its backend. */
  readonly backend: string;
}

export interface StockServer {
  /** `shop.example`, `*.shop.example`, or `_` for every host that no other server names. */
  readonly hostname: string;
  readonly locations: readonly StockLocation[];
}

export interface StockConfiguration {
  readonly servers: readonly StockServer[];
  readonly backends: readonly StockBackend[];
}

export const anyHost = "_";

/** What runs before the first sync. */
export const emptyConfiguration: StockConfiguration = { servers: [], backends: [] };

/** `backends` are handed over as data; `routes` need a new nginx.conf and a reload first. */
export type StockChange = "nothing" | "backends" | "routes";

/** IsDynamicConfigurationEnough in pkg/util/ingress/ingress.go compares all but the backends. */
export function changeBetween(
  running: StockConfiguration,
  wanted: StockConfiguration,
): StockChange {
  if (!isSame(running.servers, wanted.servers)) return "routes";
  return isSame(running.backends, wanted.backends) ? "nothing" : "backends";
}

function isSame(left: readonly object[], right: readonly object[]): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
