// Envoy's clusters as its admin listener answers them at /clusters?format=json (Clusters in
// envoy/admin/v3/clusters.proto). Pure. Clusters that have no endpoints of pods, such as Envoy's own
// ones, are of no service and do no harm.
import { isIp } from "../../environment/ip-address.ts";
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import { parsedJson } from "./parsed-json.ts";
import type { Backend, Backends } from "./polled-format.ts";

export const envoyPath = "/clusters?format=json";

/** Undefined when the answer is not of this kind. */
export function readEnvoyClusters(body: string): Backends | undefined {
  const answer = parsedJson(body);
  // Without a cluster, Envoy leaves the field out.
  const { cluster_statuses: clusters = [] } = isRecord(answer) ? answer : { cluster_statuses: 0 };
  if (!Array.isArray(clusters)) return undefined;
  const backends = new Map<string, Backend>();
  for (const one of clusters) {
    if (!isRecord(one) || typeof one["name"] !== "string") return undefined;
    addParts(backends, one["name"], one);
  }
  return backends;
}

/**
 * Contour: `namespace/service/port/hash`, cut off after 60 characters, and not cut off in the name
 * for EDS, `namespace/service/port` (internal/envoy/cluster.go, internal/xds/util.go). Istio:
 * `outbound|port|subset|service.namespace.svc.domain`. Envoy Gateway names routes, not services.
 */
export function servicesOfEnvoyCluster(name: string): readonly string[] {
  const istio = /^outbound\|\d+\|[^|]*\|([^.|]+)\.([^.|]+)\.svc\./.exec(name);
  if (istio !== null) return [`${istio[2]}/${istio[1]}`];
  const contour = /^([^/]+)\/([^/]+)(?:\/[^/]+){0,2}$/.exec(name);
  return contour === null ? [] : [`${contour[1]}/${contour[2]}`];
}

/**
 * Envoy Gateway has a cluster for each rule of a route, and in it a region for each backend of the
 * rule: each region is a part of its own.
 */
function addParts(backends: Map<string, Backend>, name: string, cluster: RawRecord): void {
  const { eds_service_name: alias, host_statuses: hosts } = cluster;
  const named = typeof alias === "string" && alias !== "" ? { alias } : {};
  const parts = new Map<string, Backend["endpoints"][number][]>([[name, []]]);
  for (const host of Array.isArray(hosts) ? hosts : []) {
    if (!isRecord(host) || !isRoutedTo(host)) continue;
    const { address, port_value: port } = recordOf(recordOf(host["address"])["socket_address"]);
    if (typeof address !== "string" || !isIp(address) || !isPort(port)) continue;
    const { region } = recordOf(host["locality"]);
    const isOwn = typeof region === "string" && region.startsWith(`${name}/`);
    const part = isOwn ? region : name;
    const endpoints = parts.get(part) ?? [];
    parts.set(part, endpoints);
    endpoints.push({ address, port });
  }
  for (const [part, endpoints] of parts) {
    backends.set(part, { endpoints, ...named, ...(part !== name && { partOf: name }) });
  }
}

/**
 * An endpoint that EDS has removed and that passes Envoy's own health checks still gets requests
 * (`pending_dynamic_removal`), so it counts.
 */
function isRoutedTo(host: RawRecord): boolean {
  const health = recordOf(host["health_status"]);
  const { eds_health_status: eds = "HEALTHY" } = health;
  const isHealthy = eds === "HEALTHY" || eds === "DEGRADED" || eds === "UNKNOWN";
  return isHealthy && unusedReasons.every((reason) => health[reason] !== true);
}

const unusedReasons = [
  "failed_active_health_check",
  "failed_outlier_check",
  "pending_active_hc",
  "excluded_via_immediate_hc_fail",
] as const;

function isPort(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 0 && value <= 65_535;
}

function recordOf(value: unknown): RawRecord {
  return isRecord(value) ? value : {};
}
