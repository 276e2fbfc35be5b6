// Only for tests: which endpoints a cluster's objects make true and list, worked out anew from all of
// them after every change, by rules written down a second time. Fed with what a storage commits it
// says what happened, and fed with what reached an observer it says what that could know.
import type { Direction, Hop } from "../../journeys/witness.ts";
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";

/** An endpoint appeared or vanished at a hop. */
export interface ToldChange {
  readonly hop: Hop;
  /** The cluster whose objects say so. */
  readonly witness: string;
  readonly key: string;
  readonly direction: Direction;
  readonly at: number;
  /**
   * Found in a list, or what the first list showed; a backlog is what a watch tells when it has just
   * been opened, where nothing says whether it happened now or had gathered before.
   */
  readonly how: "event" | "backlog" | "list" | "baseline";
}

export type Resource = "services" | "pods" | "endpointslices";

export const resources: readonly Resource[] = ["services", "pods", "endpointslices"];

export const sourceClusterLabel = "multicluster.kubernetes.io/source-cluster";
export const importedServiceLabel = "multicluster.kubernetes.io/service-name";
export const serviceNameLabel = "kubernetes.io/service-name";

/** Names an endpoint; without a pod's uid, the address alone does. */
export function keyOf(
  cluster: string,
  service: string,
  { address, port, uid }: { readonly address: string; readonly port: number; readonly uid: string },
): string {
  return [cluster, service, uid, address, port].join(" ");
}

export class ToldEndpoints {
  readonly changes: ToldChange[] = [];
  readonly #cluster: string;
  readonly #objects: Readonly<Record<Resource, Map<string, RawRecord>>> = {
    services: new Map(),
    pods: new Map(),
    endpointslices: new Map(),
  };
  /** When each was first listed. */
  readonly #listed = new Map<Resource, number>();
  readonly #present = new Map<Hop, ReadonlySet<string>>();

  /** `isWhole` where nothing has to be listed first. */
  constructor(cluster: string, { isWhole = false } = {}) {
    this.#cluster = cluster;
    if (isWhole) for (const resource of resources) this.#listed.set(resource, 0);
  }

  /** The object is so now; undefined when it is gone. */
  told(
    resource: Resource,
    name: string,
    object: RawRecord | undefined,
    at: number,
    how: "event" | "backlog" = "event",
  ): void {
    if (object === undefined) this.#objects[resource].delete(name);
    else this.#objects[resource].set(name, object);
    this.#look(at, how);
  }

  /** These are all there are. */
  listed(resource: Resource, objects: ReadonlyMap<string, RawRecord>, at: number): void {
    this.#objects[resource].clear();
    for (const [name, object] of objects) this.#objects[resource].set(name, object);
    const isFirst = !this.#listed.has(resource);
    if (isFirst) this.#listed.set(resource, at);
    this.#look(at, isFirst ? "baseline" : "list");
  }

  /** From when on all changes at the hop are told. */
  beganAt(hop: Hop): number {
    const needed: readonly Resource[] = hop === "pod" ? ["services", "pods"] : ["endpointslices"];
    return Math.max(...needed.map((one) => this.#listed.get(one) ?? Number.POSITIVE_INFINITY));
  }

  keysAt(hop: Hop): ReadonlySet<string> {
    return this.#present.get(hop) ?? new Set();
  }

  #look(at: number, how: ToldChange["how"]): void {
    this.#compare("pod", this.#made(), at, how);
    this.#compare("published", this.#sliced({ copies: false }), at, how);
    this.#compare("synced", this.#sliced({ copies: true }), at, how);
  }

  #compare(hop: Hop, after: ReadonlySet<string>, at: number, how: ToldChange["how"]): void {
    const before = this.#present.get(hop) ?? new Set();
    this.#present.set(hop, after);
    const note = (direction: Direction, key: string): void => {
      this.changes.push({ hop, witness: this.#cluster, key, direction, at, how });
    };
    for (const key of before) if (!after.has(key)) note("leave", key);
    for (const key of after) if (!before.has(key)) note("join", key);
  }

  #made(): ReadonlySet<string> {
    const keys = new Set<string>();
    // Before both are listed nobody can tell.
    if (!this.#listed.has("services") || !this.#listed.has("pods")) return keys;
    for (const [service, { spec }] of this.#objects.services) {
      const selector = isRecord(spec) ? spec["selector"] : undefined;
      if (!isRecord(selector)) continue;
      for (const [name, pod] of this.#objects.pods) {
        if (namespaceOf(name) !== namespaceOf(service)) continue;
        const endpoint = readyPod(pod, selector);
        if (endpoint !== undefined) keys.add(keyOf(this.#cluster, service, endpoint));
      }
    }
    return keys;
  }

  #sliced({ copies }: { readonly copies: boolean }): ReadonlySet<string> {
    const keys = new Set<string>();
    for (const [name, slice] of this.#objects.endpointslices) {
      const labels = at(slice, "metadata", "labels");
      const source = labels?.[sourceClusterLabel];
      const service = labels?.[copies ? importedServiceLabel : serviceNameLabel];
      if ((source !== undefined) !== copies || typeof service !== "string") continue;
      const cluster = typeof source === "string" ? source : this.#cluster;
      for (const endpoint of sliceEndpoints(slice)) {
        keys.add(keyOf(cluster, `${namespaceOf(name)}/${service}`, endpoint));
      }
    }
    return keys;
  }
}

function namespaceOf(name: string): string {
  return name.split("/")[0] ?? "";
}

function readyPod(pod: RawRecord, selector: RawRecord) {
  const labels = at(pod, "metadata", "labels") ?? {};
  const status = at(pod, "status") ?? {};
  const conditions = Array.isArray(status["conditions"]) ? status["conditions"] : [];
  const isReady = conditions.some((one) => isRecord(one) && one["status"] === "True");
  const isLeaving = at(pod, "metadata")?.["deletionTimestamp"] !== undefined;
  const isSelected = Object.entries(selector).every(([key, value]) => labels[key] === value);
  const { podIP: address } = status;
  if (!isReady || isLeaving || !isSelected || typeof address !== "string") return undefined;
  const uid = String(at(pod, "metadata")?.["uid"]);
  return { address, port: 8080, uid };
}

function sliceEndpoints(slice: RawRecord) {
  const endpoints = Array.isArray(slice["endpoints"]) ? slice["endpoints"].filter(isRecord) : [];
  return endpoints.flatMap((endpoint) => {
    const addresses = endpoint["addresses"];
    const isReady = at(endpoint, "conditions")?.["ready"] !== false;
    const uid = at(endpoint, "targetRef")?.["uid"];
    if (!isReady || !Array.isArray(addresses)) return [];
    return [{ address: String(addresses[0]), port: 8080, uid: typeof uid === "string" ? uid : "" }];
  });
}

function at(record: RawRecord, ...path: readonly string[]): RawRecord | undefined {
  let found: unknown = record;
  for (const field of path) found = isRecord(found) ? found[field] : undefined;
  return isRecord(found) ? found : undefined;
}
