// The course of a cluster, from samples a few seconds apart: the addresses of the `kubernetes`
// endpoints, heartbeats of nodes and renewals of leader locks. A sample is an object of the kind
// `Observation`, so that saved samples are read as live ones are. Only sums are kept.
//
// Gaps are between two times of the same writer, and renewals are counted by change, so that no clock
// is compared with another one.
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import type { Place } from "./sign-log.ts";

export const observationKind = "Observation";

/** One sample, as it is fed and saved. */
export interface Observation {
  readonly kind: typeof observationKind;
  /** On the observer's clock. */
  readonly observedAt: string;
  /** Absent when they could not be read. */
  readonly kubernetesAddresses?: readonly string[];
  /** The last heartbeat of each node; of the later samples only those that changed. */
  readonly heartbeats: Readonly<Record<string, string>>;
  readonly locks: readonly ObservedLock[];
  /** Nodes whose containers have ended or started while their heartbeat was missing. */
  readonly restarted?: readonly string[];
}

export interface ObservedLock {
  /** `ingress-nginx/ingress-controller-leader-nginx`. */
  readonly lock: string;
  readonly holder: string;
  readonly renewTime: string;
}

export interface AddressChanges {
  samples: number;
  changes: number;
  /** Changes to an address that had been listed before. */
  returns: number;
  /** Every sample had exactly one address. */
  isOneEach: boolean;
  readonly seen: Set<string>;
  readonly fromMs: number;
  toMs: number;
  last: string;
  readonly place: Place;
}

export interface Heartbeats {
  readonly node: string;
  /** Heartbeats that came during the observation. */
  count: number;
  longestGapMs: number;
  shortestGapMs: number;
  /** Gaps that are longer than a missed heartbeat; a restart of the node makes one. */
  longGaps: number;
  lastMs: number;
  readonly place: Place;
}

export interface LockHistory {
  readonly lock: string;
  holder: string;
  /** How often the holder changed during the observation. */
  changes: number;
  /** By the same holder, during the observation. */
  renewals: number;
  /** Since the holder was first seen. */
  observedMs: number;
  /** Since its last renewal, or since the holder was first seen. */
  unrenewedMs: number;
  fromMs: number;
  /** When the last renewal was seen. */
  renewedMs: number;
  renewTime: string;
  readonly place: Place;
}

/** A kubelet sends a heartbeat each 10 s. */
const longGapMs = 15_000;

/** More nodes or locks are not kept. */
const trackedMax = 20_000;

export class Observations {
  kubernetes: AddressChanges | undefined;
  readonly heartbeats = new Map<string, Heartbeats>();
  /** Nodes that were restarted. */
  readonly restarted = new Set<string>();
  /** By `namespace/name`. */
  readonly locks = new Map<string, LockHistory>();

  /** Other values than samples are passed over. */
  add(value: RawRecord, place: Place): void {
    const atMs = timeIn(value["observedAt"]);
    if (atMs === undefined) return;
    const { kubernetesAddresses: addresses, heartbeats, locks, restarted } = value;
    if (Array.isArray(addresses)) this.#addAddresses(addresses.filter(isText), atMs, place);
    if (isRecord(heartbeats)) {
      for (const [node, time] of Object.entries(heartbeats)) this.#addHeartbeat(node, time, place);
    }
    for (const node of Array.isArray(restarted) ? restarted.filter(isText) : []) {
      if (this.restarted.size < trackedMax) this.restarted.add(node);
    }
    for (const lock of Array.isArray(locks) ? locks : []) {
      if (isRecord(lock)) this.#addLock(lock, atMs, place);
    }
  }

  #addAddresses(addresses: readonly string[], atMs: number, place: Place): void {
    const text = [...addresses].sort().join(" ");
    this.kubernetes ??= {
      samples: 0,
      changes: 0,
      returns: 0,
      isOneEach: true,
      seen: new Set([text]),
      fromMs: atMs,
      toMs: atMs,
      last: text,
      place,
    };
    const own = this.kubernetes;
    own.samples += 1;
    own.toMs = atMs;
    own.isOneEach &&= addresses.length === 1;
    if (text === own.last) return;
    own.changes += 1;
    if (own.seen.has(text)) own.returns += 1;
    if (own.seen.size < trackedMax) own.seen.add(text);
    own.last = text;
  }

  #addHeartbeat(node: string, time: unknown, place: Place): void {
    const beatMs = timeIn(time);
    if (beatMs === undefined) return;
    const known = this.heartbeats.get(node);
    if (known === undefined) {
      if (this.heartbeats.size >= trackedMax) return;
      this.heartbeats.set(node, {
        node,
        count: 0,
        longestGapMs: 0,
        shortestGapMs: Number.POSITIVE_INFINITY,
        longGaps: 0,
        lastMs: beatMs,
        place,
      });
      return;
    }
    if (beatMs <= known.lastMs) return;
    known.count += 1;
    const gapMs = beatMs - known.lastMs;
    known.longestGapMs = Math.max(known.longestGapMs, gapMs);
    known.shortestGapMs = Math.min(known.shortestGapMs, gapMs);
    if (gapMs > longGapMs) known.longGaps += 1;
    known.lastMs = beatMs;
  }

  #addLock({ lock, holder, renewTime }: RawRecord, atMs: number, place: Place): void {
    if (!isText(lock) || !isText(holder) || !isText(renewTime)) return;
    const known = this.locks.get(lock);
    if (known === undefined) {
      if (this.locks.size >= trackedMax) return;
      const none = { changes: 0, renewals: 0, observedMs: 0, unrenewedMs: 0, renewedMs: atMs };
      this.locks.set(lock, { lock, holder, ...none, fromMs: atMs, renewTime, place });
      return;
    }
    if (known.holder !== holder) {
      known.holder = holder;
      known.changes += 1;
      known.renewals = 0;
      known.fromMs = atMs;
      known.renewedMs = atMs;
    } else if (known.renewTime !== renewTime) {
      known.renewals += 1;
      known.renewedMs = atMs;
    }
    known.renewTime = renewTime;
    known.observedMs = atMs - known.fromMs;
    known.unrenewedMs = atMs - known.renewedMs;
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function timeIn(value: unknown): number | undefined {
  const ms = isText(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
