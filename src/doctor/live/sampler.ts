// Samples what only time shows: the addresses of the `kubernetes` endpoints, the heartbeats of nodes
// and the renewals of leader locks. Nodes are read again only if they have no Leases, because a Node is
// large and is then the only place of its heartbeats.
import type { Clock } from "../../environment/clock.ts";
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import { type Observation, type ObservedLock, observationKind } from "../evidence/observations.ts";
import { podOf } from "../rules/ghost-leader.ts";
import { leaderAnnotation, liveKinds, recordIn, recordsIn, textIn } from "./live-kinds.ts";
import type { LiveReader } from "./live-reader.ts";

export interface SamplerOptions {
  readonly reader: LiveReader;
  readonly clock: Clock;
  readonly maxQps: number;
  readonly nodes: number;
}

/** A fight changes the addresses every few seconds; heartbeats and locks are slower. */
const everyMinMs = 2_000;

/** A sample of a large cluster has megabytes, so it is taken less often. */
const msPerNode = 4;

/** Locks on ConfigMaps and Endpoints are read one by one. */
const locksMax = 5;

/** The share of the rate that samples take. */
const usedShare = 0.8;

const pageObjects = 500;

const nodeLeases = "kube-node-lease";
const kubernetesPath = "/api/v1/namespaces/default/endpoints/kubernetes";

/** A lock that is no Lease. */
interface AnnotatedLock {
  readonly resource: "configmaps" | "endpoints";
  readonly namespace: string;
  readonly name: string;
}

export class Sampler {
  readonly #options: SamplerOptions;
  readonly #annotated: AnnotatedLock[] = [];
  /** By `namespace/name`. */
  readonly #locks = new Map<string, ObservedLock>();
  /** The last heartbeat of each node that was reported. */
  readonly #reported = new Map<string, string>();
  #hasNodeLeases = false;

  constructor(options: SamplerOptions) {
    this.#options = options;
  }

  /** Before the lists it is unknown how many locks there are. */
  get perSampleMax(): number {
    return this.#perSample(locksMax);
  }

  /** Of all kinds. */
  get locksMax(): number {
    return 2 * locksMax;
  }

  #perSample(locks: number): number {
    const pages = Math.max(1, Math.ceil(this.#options.nodes / pageObjects));
    return 1 + 2 * pages + locks;
  }

  get everyMs(): number {
    const { maxQps, nodes } = this.#options;
    const byRate = (this.#perSample(locksMax) * 1000) / (maxQps * usedShare);
    return Math.ceil(Math.max(everyMinMs, nodes * msPerNode, byRate));
  }

  /** An object of the lists: locks and Leases of nodes are noted. */
  listed(kind: string, object: RawRecord): void {
    const metadata = recordIn(object, "metadata");
    const [namespace, name] = [textIn(metadata, "namespace"), textIn(metadata, "name")];
    if (kind === "Lease") this.#hasNodeLeases ||= namespace === nodeLeases;
    if (kind !== "ConfigMap" && kind !== "Endpoints") return;
    if (recordOf(object) === undefined || this.#annotated.length >= locksMax) return;
    const resource = kind === "ConfigMap" ? "configmaps" : "endpoints";
    this.#annotated.push({ resource, namespace, name });
  }

  async sample(): Promise<Observation> {
    const { reader, clock } = this.#options;
    this.#locks.clear();
    const beats = new Map<string, string>();
    const kubernetes = await reader.object("endpoints", kubernetesPath);
    for (const kind of liveKinds) {
      const isWanted = kind.kind === "Lease" || (kind.kind === "Node" && !this.#hasNodeLeases);
      if (!isWanted) continue;
      for await (const page of reader.pages(kind)) {
        for (const object of page) {
          if (kind.kind === "Node") noteStatus(object, beats);
          else this.#noteLease(object, beats);
        }
      }
    }
    for (const { resource, namespace, name } of this.#annotated) {
      const path = `/api/v1/namespaces/${namespace}/${resource}/${name}`;
      const object = await reader.object(resource, path);
      if (object !== undefined) this.#noteLock(object, recordOf(object));
    }
    return {
      kind: observationKind,
      observedAt: new Date(clock.wallMs()).toISOString(),
      ...(kubernetes !== undefined && { kubernetesAddresses: addressesOf(kubernetes) }),
      heartbeats: this.#changed(beats),
      locks: [...this.#locks.values()],
    };
  }

  /** Of all locks in the last sample. */
  holders(): readonly { readonly namespace: string; readonly holder: string }[] {
    return [...this.#locks.values()].map(({ lock, holder }) => ({
      namespace: lock.split("/")[0] ?? "",
      holder: podOf(holder),
    }));
  }

  #noteLease(lease: RawRecord, beats: Map<string, string>): void {
    const metadata = recordIn(lease, "metadata");
    const spec = recordIn(lease, "spec");
    if (textIn(metadata, "namespace") !== nodeLeases) this.#noteLock(lease, spec);
    else beats.set(textIn(metadata, "name"), textIn(spec, "renewTime"));
  }

  #noteLock(object: RawRecord, record: RawRecord | undefined): void {
    if (record === undefined) return;
    const metadata = recordIn(object, "metadata");
    const lock = `${textIn(metadata, "namespace")}/${textIn(metadata, "name")}`;
    const [holder, renewTime] = [textIn(record, "holderIdentity"), textIn(record, "renewTime")];
    if (holder !== "" && renewTime !== "") this.#locks.set(lock, { lock, holder, renewTime });
  }

  #changed(beats: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
    const changed = [...beats].filter(([node, time]) => this.#reported.get(node) !== time);
    for (const [node, time] of changed) this.#reported.set(node, time);
    return Object.fromEntries(changed);
  }
}

/** The kubelet writes the time of the heartbeat into its conditions. */
function noteStatus(node: RawRecord, beats: Map<string, string>): void {
  for (const condition of recordsIn(recordIn(node, "status")["conditions"])) {
    if (condition["type"] !== "Ready") continue;
    beats.set(textIn(recordIn(node, "metadata"), "name"), textIn(condition, "lastHeartbeatTime"));
  }
}

function recordOf(object: RawRecord): RawRecord | undefined {
  const text = textIn(recordIn(recordIn(object, "metadata"), "annotations"), leaderAnnotation);
  try {
    const record: unknown = text === "" ? undefined : JSON.parse(text);
    return isRecord(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

function addressesOf(endpoints: RawRecord): readonly string[] {
  return recordsIn(endpoints["subsets"])
    .flatMap((subset) => recordsIn(subset["addresses"]))
    .map((address) => textIn(address, "ip"))
    .sort();
}
