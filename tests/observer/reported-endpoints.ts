// Only for tests: the endpoints that a cluster's objects make true and list, computed from all
// objects after every change, by an independent copy of the rules. With a storage's commits as
// input it has the real changes; with an observer's input it has the changes that the observer
// could know.

import { isRecord, type RawRecord } from "../../src/kube/kinds/fields.ts";
import type { PublishedForm } from "../../src/sources/published-form.ts";
import type { Direction, Hop } from "../../src/timeline/witness.ts";
import { labelsOf, podEndpoints, sliceEndpoints, subsetEndpoints } from "./object-endpoints.ts";

/** An endpoint appeared or vanished at a hop. */
export interface ReportedChange {
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

export type Resource = "services" | "pods" | "endpointslices" | "endpoints";

export const resources: readonly Resource[] = ["services", "pods", "endpointslices", "endpoints"];

export const sourceClusterLabel = "multicluster.kubernetes.io/source-cluster";
export const importedServiceLabel = "multicluster.kubernetes.io/service-name";
export const serviceNameLabel = "kubernetes.io/service-name";

/** The identity of an endpoint in a service; without a pod's uid, the address alone. */
export interface EndpointName {
  readonly uid: string;
  readonly address: string;
  readonly port: number;
}

export interface EndpointKey extends EndpointName {
  readonly cluster: string;
  readonly service: string;
}

export function keyOf(
  cluster: string,
  service: string,
  { address, port, uid }: EndpointName,
): string {
  return [cluster, service, uid, address, port].join(" ");
}

export function fromKey(key: string): EndpointKey {
  const [cluster = "", service = "", uid = "", address = "", port = ""] = key.split(" ");
  return { cluster, service, uid, address, port: Number(port) };
}

/** The identity of an endpoint for witnesses that know only addresses. */
export function placeOfKey(key: string): string {
  const { service, address, port } = fromKey(key);
  return `${service} ${address} ${port}`;
}

export class ReportedEndpoints {
  readonly changes: ReportedChange[] = [];
  readonly #cluster: string;
  readonly #objects: Readonly<Record<Resource, Map<string, RawRecord>>> = {
    services: new Map(),
    pods: new Map(),
    endpointslices: new Map(),
    endpoints: new Map(),
  };
  readonly #form: PublishedForm;
  /** When each was first listed. */
  readonly #listed = new Map<Resource, number>();
  readonly #present = new Map<Hop, ReadonlySet<string>>();

  /** `isWhole` where nothing has to be listed first. */
  constructor(
    cluster: string,
    { form, isWhole = false }: { readonly form: PublishedForm; readonly isWhole?: boolean },
  ) {
    this.#cluster = cluster;
    this.#form = form;
    if (isWhole) for (const resource of resources) this.#listed.set(resource, 0);
  }

  /** The object is so now; undefined when it is gone. */
  reported(
    resource: Resource,
    name: string,
    object: RawRecord | undefined,
    at: number,
    how: "event" | "backlog" = "event",
  ): void {
    if (object === undefined) this.#objects[resource].delete(name);
    else this.#objects[resource].set(name, object);
    this.#look(resource, at, how);
  }

  /** These are all there are. */
  listed(resource: Resource, objects: ReadonlyMap<string, RawRecord>, at: number): void {
    this.#objects[resource].clear();
    for (const [name, object] of objects) this.#objects[resource].set(name, object);
    const isFirst = !this.#listed.has(resource);
    if (isFirst) this.#listed.set(resource, at);
    this.#look(resource, at, isFirst ? "baseline" : "list");
  }

  /** Whether a list with these objects alone would take away half or more of what there is. */
  losesHalf(resource: Resource, objects: ReadonlyMap<string, RawRecord>): boolean {
    const known = [...this.#objects[resource].keys()];
    const lost = known.filter((name) => !objects.has(name)).length;
    return lost > 0 && 2 * lost >= known.length;
  }

  /** Since when all changes at the hop are reported. */
  beganAt(hop: Hop): number {
    const needed: readonly Resource[] = hop === "pod" ? ["services", "pods"] : [this.#form];
    return Math.max(...needed.map((one) => this.#listed.get(one) ?? Number.POSITIVE_INFINITY));
  }

  keysAt(hop: Hop): ReadonlySet<string> {
    return this.#present.get(hop) ?? new Set();
  }

  /** Those of a service of this cluster. */
  endpointsAt(hop: Hop, service: string): readonly EndpointKey[] {
    const start = `${this.#cluster} ${service} `;
    return [...this.keysAt(hop)].filter((key) => key.startsWith(start)).map(fromKey);
  }

  /** At the hops where such objects make a difference. */
  #look(resource: Resource, at: number, how: ReportedChange["how"]): void {
    if (resource === "services" || resource === "pods") {
      this.#compare("pod", this.#made(), at, how);
      return;
    }
    if (resource === this.#form) {
      const isSliced = resource === "endpointslices";
      const published = isSliced ? this.#sliced({ copies: false }) : this.#inSubsets();
      this.#compare("published", published, at, how);
    }
    if (resource === "endpointslices") {
      this.#compare("synced", this.#sliced({ copies: true }), at, how);
    }
  }

  #compare(hop: Hop, after: ReadonlySet<string>, at: number, how: ReportedChange["how"]): void {
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
    // Unknown until both are listed.
    if (!this.#listed.has("services") || !this.#listed.has("pods")) return keys;
    for (const [service, { spec }] of this.#objects.services) {
      if (!isRecord(spec) || !isRecord(spec["selector"])) continue;
      for (const [name, pod] of this.#objects.pods) {
        if (namespaceOf(name) !== namespaceOf(service)) continue;
        for (const endpoint of podEndpoints(pod, spec, spec["selector"])) {
          keys.add(keyOf(this.#cluster, service, endpoint));
        }
      }
    }
    return keys;
  }

  #sliced({ copies }: { readonly copies: boolean }): ReadonlySet<string> {
    const keys = new Set<string>();
    for (const [name, slice] of this.#objects.endpointslices) {
      const labels = labelsOf(slice);
      const source = labels[sourceClusterLabel];
      const service = labels[copies ? importedServiceLabel : serviceNameLabel];
      if ((source !== undefined) !== copies || typeof service !== "string") continue;
      const cluster = typeof source === "string" ? source : this.#cluster;
      for (const endpoint of sliceEndpoints(slice)) {
        keys.add(keyOf(cluster, `${namespaceOf(name)}/${service}`, endpoint));
      }
    }
    return keys;
  }

  #inSubsets(): ReadonlySet<string> {
    const keys = new Set<string>();
    for (const [service, object] of this.#objects.endpoints) {
      for (const endpoint of subsetEndpoints(object)) {
        keys.add(keyOf(this.#cluster, service, endpoint));
      }
    }
    return keys;
  }
}

function namespaceOf(name: string): string {
  return name.split("/")[0] ?? "";
}
