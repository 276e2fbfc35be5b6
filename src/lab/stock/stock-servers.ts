// From Ingresses to servers with locations, and the backends these refer to. Of two Ingresses that
// claim the same host and path the older one has it. Pure.
import type { Ingress, IngressBackend } from "../../kube/kinds/ingress.ts";
import { anyHost, type StockLocation, type StockServer } from "./stock-configuration.ts";

/** The service port that a backend's endpoints are those of. */
export interface BackendReference {
  /** `namespace-service-port`, as upstreamName in internal/ingress/controller/util.go. */
  readonly name: string;
  readonly namespace: string;
  readonly service: string;
  readonly port: number | string;
}

export interface StockRoutes {
  readonly servers: readonly StockServer[];
  readonly references: readonly BackendReference[];
}

export function routesOf(ingresses: readonly Ingress[]): StockRoutes {
  const claims = new Map<string, Claims>();
  const references = new Map<string, BackendReference>();
  for (const ingress of [...ingresses].sort(olderFirst)) {
    for (const { host, path, pathType, backend } of claimsOf(ingress)) {
      const reference = referenceTo(ingress.metadata.namespace, backend);
      if (reference === undefined) continue;
      references.set(reference.name, reference);
      const claimed = claims.get(host) ?? new Map<string, Claim>();
      claims.set(host, claimed);
      const key = `${pathType} ${path}`;
      if (!claimed.has(key)) claimed.set(key, { path, pathType, backend: reference.name });
    }
  }
  const servers = [...claims].map(([hostname, claimed]) => ({
    hostname,
    locations: locationsOf([...claimed.values()]),
  }));
  return {
    servers: servers.sort((left, right) => compare(left.hostname, right.hostname)),
    references: [...references.values()].sort((left, right) => compare(left.name, right.name)),
  };
}

interface Claim {
  readonly path: string;
  readonly pathType: string;
  readonly backend: string;
}

/** Of one host, by type and path, the oldest first. */
type Claims = Map<string, Claim>;

/** sortIngressSlice in store/store.go: of two of the same second, the later name comes first. */
function olderFirst(left: Ingress, right: Ingress): number {
  const age = (left.metadata.creationTimestamp ?? 0) - (right.metadata.creationTimestamp ?? 0);
  return age !== 0 ? age : compare(keyOf(right), keyOf(left));
}

function keyOf({ metadata }: Ingress): string {
  return `${metadata.namespace}/${metadata.name}`;
}

interface HostClaim {
  readonly host: string;
  readonly path: string;
  readonly pathType: string;
  readonly backend: IngressBackend;
}

function* claimsOf({ rules, defaultBackend }: Ingress): Generator<HostClaim> {
  for (const { host, paths } of rules) {
    for (const { path, pathType, backend } of paths) {
      yield { host: host || anyHost, path: path || "/", pathType, backend };
    }
  }
  if (defaultBackend === undefined) return;
  const hosts = rules.length === 0 ? [anyHost] : rules.map(({ host }) => host || anyHost);
  for (const host of hosts) {
    yield { host, path: "/", pathType: "Prefix", backend: defaultBackend };
  }
}

function referenceTo(namespace: string, { service }: IngressBackend): BackendReference | undefined {
  if (service?.port === undefined) return undefined;
  const name = `${namespace}-${service.name}-${service.port}`;
  return { name, namespace, service: service.name, port: service.port };
}

/**
 * A Prefix of whole path elements becomes two locations, `/a/` and exactly `/a`, unless the latter
 * is a location of its own (updateServerLocations in location.go). Anything else is a prefix of the text.
 */
function locationsOf(claims: readonly Claim[]): readonly StockLocation[] {
  const locations = new Map<string, StockLocation>();
  const add = (location: StockLocation): void => {
    const key = `${location.match} ${location.path}`;
    if (!locations.has(key)) locations.set(key, location);
  };
  for (const { path, pathType, backend } of claims) {
    if (pathType === "Exact") add({ match: "exact", path, backend });
  }
  for (const { path, pathType, backend } of claims) {
    if (pathType === "Exact") continue;
    const isWhole = pathType !== "Prefix" || path.endsWith("/");
    add({ match: "prefix", path: isWhole ? path : `${path}/`, backend });
    if (pathType === "Prefix" && path !== "/") add({ match: "exact", path, backend });
  }
  return [...locations.values()].sort(
    (left, right) => compare(left.path, right.path) || compare(left.match, right.match),
  );
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
