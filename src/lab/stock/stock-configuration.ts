// The desired configuration of stock's proxy, as data: hosts and paths with their backends, and the
// endpoints of each. The order is fixed, so that two configurations with the same meaning are
// equal. The one decision of the model is here: whether a difference needs a reload.

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

/** The configuration before the first sync. */
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
