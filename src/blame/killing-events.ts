// When pods were asked to terminate, from the Events of kubelets. No other object shows this for a
// pod that was gone when objects were saved.
import {
  isRecord,
  MalformedObjectError,
  optionalString,
  type RawRecord,
  recordAt,
} from "../kube/kinds/fields.ts";
import type { Evidence } from "./evidence.ts";
import { timeMs } from "./saved-time.ts";
import type { Span } from "./span.ts";

/** Written too when a container is restarted in its place; the pod stays. */
const restart = /liveness probe|startup probe|will be restarted/;

/** In both of the groups that events have been in. */
const timeFields = [
  "firstTimestamp",
  "lastTimestamp",
  "eventTime",
  "deprecatedFirstTimestamp",
  "deprecatedLastTimestamp",
];

/** Events have whole seconds. */
const resolutionMs = 1_000;

/** A pod that is gone, as it was last seen. */
export interface KilledPod {
  readonly cluster: string;
  readonly pod: RawRecord;
  readonly uid: string;
  /** It was not asked to terminate before this. */
  readonly seenMs?: number;
}

export class KillingEvents {
  /** By the pod's uid; bounded by the file that they were read from. */
  readonly #killed = new Map<string, Span>();

  get size(): number {
    return this.#killed.size;
  }

  see(event: RawRecord): void {
    try {
      if (optionalString(event, "reason") !== "Killing") return;
      if (restart.test(optionalString(event, "message") ?? optionalString(event, "note") ?? "")) {
        return;
      }
      const uid = ["involvedObject", "regarding"]
        .map((field) => optionalString(recordAt(event, field), "uid"))
        .find((one) => one !== undefined);
      if (uid === undefined) return;
      const times = timeFields
        .map((field) => timeMs(optionalString(event, field) ?? ""))
        .filter((ms) => !Number.isNaN(ms));
      if (times.length === 0) return;
      // A pod may have several Killing events, one for each restart of a container; only one was
      // its end.
      const known = this.#killed.get(uid) ?? { fromMs: Infinity, toMs: -Infinity };
      const fromMs = Math.min(known.fromMs, ...times);
      this.#killed.set(uid, { fromMs, toMs: Math.max(known.toMs, ...times) });
    } catch (error) {
      if (!(error instanceof MalformedObjectError)) throw error;
    }
  }

  /** The pod as it was after that, if there is such an event since it was last seen. */
  addTo(evidence: Evidence, { cluster, pod, uid, seenMs = -Infinity }: KilledPod): void {
    const killed = this.#killed.get(uid);
    if (killed === undefined || killed.toMs + resolutionMs < seenMs) return;
    const fromMs = Math.min(Math.max(killed.fromMs, seenMs), killed.toMs);
    const metadata = {
      ...(isRecord(pod["metadata"]) && pod["metadata"]),
      deletionTimestamp: new Date(fromMs).toISOString(),
      deletionGracePeriodSeconds: 0,
    };
    const seen = { atMs: killed.toMs + resolutionMs, isWatched: true, afterMs: undefined };
    evidence.add({ cluster, kind: "Pod", isDeleted: false, object: { ...pod, metadata }, seen });
  }
}
