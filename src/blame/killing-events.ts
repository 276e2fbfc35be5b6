// When pods were told to end, by the events that kubelets write: of a pod that was gone when objects
// were saved nothing else says so.
import {
  isRecord,
  MalformedObjectError,
  optionalString,
  type RawRecord,
  recordAt,
} from "../kube/kinds/fields.ts";
import type { Evidence } from "./evidence.ts";
import { timeMs } from "./saved-time.ts";

/** Written too when a container is restarted in its place; the pod stays. */
const restart = /liveness probe|startup probe|will be restarted/;

/** Events have whole seconds. */
const resolutionMs = 1_000;

export class KillingEvents {
  /** By the pod's uid; bounded by the file that they were read from. */
  readonly #killedMs = new Map<string, number>();

  get size(): number {
    return this.#killedMs.size;
  }

  see(event: RawRecord): void {
    try {
      if (optionalString(event, "reason") !== "Killing") return;
      if (restart.test(optionalString(event, "message") ?? "")) return;
      const uid = optionalString(recordAt(event, "involvedObject"), "uid");
      const time =
        optionalString(event, "firstTimestamp") ?? optionalString(event, "eventTime") ?? "";
      const atMs = timeMs(time);
      if (uid !== undefined && !Number.isNaN(atMs)) this.#killedMs.set(uid, atMs);
    } catch (error) {
      if (!(error instanceof MalformedObjectError)) throw error;
    }
  }

  /** The pod as it was after that, if there is such an event. */
  addTo(evidence: Evidence, cluster: string, pod: RawRecord, uid: string): void {
    const killedMs = this.#killedMs.get(uid);
    if (killedMs === undefined) return;
    const metadata = {
      ...(isRecord(pod["metadata"]) && pod["metadata"]),
      deletionTimestamp: new Date(killedMs).toISOString(),
      deletionGracePeriodSeconds: 0,
    };
    const seen = { atMs: killedMs + resolutionMs, isWatched: false, afterMs: killedMs };
    evidence.add({ cluster, kind: "Pod", isDeleted: false, object: { ...pod, metadata }, seen });
  }
}
