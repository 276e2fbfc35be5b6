// The state of each pod in a cluster's API, and since when, from the storage itself. Faults of
// networks and watches do not affect this: it is the knowledge of a perfect source.

import { podKind as storedPods } from "../../src/apiserver/kinds/pod.ts";
import { decodeRecord } from "../../src/apiserver/listwatch/encoded-object.ts";
import type { Storage, StoredRecord } from "../../src/apiserver/storage/storage.ts";
import { podKind } from "../../src/kube/kinds/pod.ts";

/**
 * `doubtful`: marked as unready by another writer than its kubelet, while its containers are ready.
 */
export type PodStanding = "coming" | "ready" | "doubtful" | "leaving";

export interface PodRecord {
  readonly cluster: string;
  readonly uid: string;
  readonly name: string;
  /** The name of its service. */
  readonly service: string;
  readonly node: string;
  /** Empty until it has one. */
  readonly address: string;
  readonly standing: PodStanding;
  /** When the API first said so. */
  readonly sinceMs: number;
  /** It is ready by its kubelet's word, whether it leaves or not. */
  readonly isServing: boolean;
  /** The object still exists. */
  readonly exists: boolean;
}

export class PodRecords {
  readonly #cluster: string;
  readonly #now: () => number;
  readonly #records = new Map<string, PodRecord>();

  /** Must begin before the first write. */
  constructor(options: { readonly cluster: string; storage: Storage; now: () => number }) {
    this.#cluster = options.cluster;
    this.#now = options.now;
    options.storage.watch(storedPods.prefix, 1, {
      onEvent: (event) => {
        if (event.type === "put") this.#wrote(event.record);
        else this.#deleted(event.previous);
      },
      onProgress: () => undefined,
      onLost: (error) => {
        throw error;
      },
    });
  }

  /** Every pod of a service there ever was. */
  all(): readonly PodRecord[] {
    return [...this.#records.values()].filter(({ service }) => service !== "");
  }

  of(uid: string): PodRecord | undefined {
    return this.#records.get(uid);
  }

  #wrote(record: StoredRecord): void {
    const pod = podKind.project(decodeRecord(record).object);
    const { uid, name, labels, deletionTimestamp } = pod.metadata;
    const before = this.#records.get(uid);
    const hasEnded = pod.phase === "Failed" || pod.phase === "Succeeded";
    let standing: PodStanding = before === undefined ? "coming" : "leaving";
    if (hasEnded || deletionTimestamp !== undefined) standing = "leaving";
    else if (pod.ready === "True") standing = "ready";
    else if (pod.containersReady === "True") standing = "doubtful";
    else if (before?.standing === "coming") standing = "coming";
    this.#note({
      cluster: this.#cluster,
      uid,
      name,
      service: labels["app"] ?? "",
      node: pod.nodeName ?? "",
      address: pod.podIP ?? before?.address ?? "",
      standing,
      sinceMs: before?.standing === standing ? before.sinceMs : this.#now(),
      isServing: pod.ready === "True" && !hasEnded,
      exists: true,
    });
  }

  #deleted(previous: StoredRecord): void {
    const { uid } = podKind.project(decodeRecord(previous).object).metadata;
    const before = this.#records.get(uid);
    if (before === undefined) return;
    const sinceMs = before.standing === "leaving" ? before.sinceMs : this.#now();
    this.#note({ ...before, standing: "leaving", sinceMs, isServing: false, exists: false });
  }

  #note(record: PodRecord): void {
    this.#records.set(record.uid, record);
  }
}
