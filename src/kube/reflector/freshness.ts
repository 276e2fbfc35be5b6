// How far a source can be trusted right now. Two things must be proved again and again: that the
// connection is alive, and that the server behind it is current. The second needs more than events
// or bookmarks, because a server whose watch cache lags sends them happily, all of them old. So the
// reflector asks for the collection's newest version by a quorum read; when the watch reaches that
// version, the source is proved current as of the moment the read was sent.
//
// The answer depends only on recorded instants and on now: a source that is not fresh says so in
// time even when everything hangs.
import { assertCostly } from "../../environment/assert.ts";
import {
  type Clock,
  elapsedMs,
  type MonotonicMs,
  monotonicAfter,
} from "../../environment/clock.ts";
import { deadPeerMs } from "../../environment/network.ts";
import type { DoubtedList } from "./reflector-removals.ts";
import { compareResourceVersions, hasReached, isOlder } from "./resource-version.ts";

/** The network reports a dead peer within this time, so asking for less would prove nothing. */
export const defaultAliveWithinMs = deadPeerMs;
/** A bookmark a minute and a quorum read each 24 s at the latest leave a few seconds to spare. */
export const defaultCurrentWithinMs = 90_000;
/** Reads wait for the watch to reach them. The oldest are dropped: they would prove the least. */
export const maxUnreachedReads = 16;

export interface Freshness {
  readonly fresh: boolean;
  /** Why not, in words; undefined when fresh. */
  readonly reason: string | undefined;
  /** Why the last list was not applied, in words; undefined when it was. */
  readonly doubt: string | undefined;
  /** Undefined while no watch is open. */
  readonly connectedSinceMs: MonotonicMs | undefined;
  /** When the server last proved to be there; now, while a watch is open. */
  readonly aliveAtMs: MonotonicMs | undefined;
  /** Everything that was true at this instant has been seen. */
  readonly currentAtMs: MonotonicMs | undefined;
  readonly resourceVersion: string | undefined;
  /** The address that answered last. */
  readonly server: string | undefined;
  /** `events` when quorum reads are refused: a lagging cache would then go unnoticed. */
  readonly provedBy: "quorum" | "events";
}

export interface FreshnessOptions {
  readonly clock: Clock;
  readonly aliveWithinMs?: number | undefined;
  readonly currentWithinMs?: number | undefined;
}

export interface QuorumRead {
  readonly sentAt: MonotonicMs;
  /** The collection's version in the answer. */
  readonly resourceVersion: string;
  /** The version of the watch when the read was sent. */
  readonly reachedAtSending: string;
}

/** Invariant: `#unreached` is in the order of sending, and none of its versions has been reached. */
export class FreshnessTracker {
  readonly #clock: Clock;
  readonly #aliveWithinMs: number;
  readonly #currentWithinMs: number;
  #connectedSince: MonotonicMs | undefined;
  #receivedAt: MonotonicMs | undefined;
  #aliveAt: MonotonicMs | undefined;
  #currentAt: MonotonicMs | undefined;
  #eventAt: MonotonicMs | undefined;
  #resourceVersion: string | undefined;
  #server: string | undefined;
  #unreached: QuorumRead[] = [];
  #provedBy: "quorum" | "events" = "quorum";
  #quorumProofs = 0;
  #doubt: DoubtedList | undefined;

  constructor(options: FreshnessOptions) {
    this.#clock = options.clock;
    this.#aliveWithinMs = options.aliveWithinMs ?? defaultAliveWithinMs;
    this.#currentWithinMs = options.currentWithinMs ?? defaultCurrentWithinMs;
  }

  get resourceVersion(): string | undefined {
    return this.#resourceVersion;
  }

  /** When a watch was opened or last sent a byte. */
  get receivedAt(): MonotonicMs | undefined {
    return this.#receivedAt;
  }

  /** When the last event or bookmark arrived. */
  get eventAt(): MonotonicMs | undefined {
    return this.#eventAt;
  }

  /** When the oldest quorum read was sent whose version the watch has still not reached. */
  get behindSince(): MonotonicMs | undefined {
    return this.#unreached[0]?.sentAt;
  }

  /**
   * When the first quorum read was sent that knew this version before the watch showed it: so long
   * ago it was there at least, but for the time a read takes. Undefined when none knew it.
   */
  readBefore(resourceVersion: string): MonotonicMs | undefined {
    const knew = (read: QuorumRead) => hasReached(read.resourceVersion, resourceVersion);
    return this.#unreached.find(knew)?.sentAt;
  }

  /** How many quorum reads the watch has reached so far. */
  get quorumProofs(): number {
    return this.#quorumProofs;
  }

  /** The list that was not applied; undefined when the last one was. */
  get doubt(): DoubtedList | undefined {
    return this.#doubt;
  }

  connected(server: string): void {
    const now = this.#clock.monotonicMs();
    this.#connectedSince = now;
    this.#receivedAt = now;
    this.#server = server;
  }

  received(): void {
    this.#receivedAt = this.#clock.monotonicMs();
  }

  /**
   * The watch ended. Only the server's own word proves that it was there to the end: a connection
   * that broke, perhaps somewhere on the way, or that we gave up may have been doubted for a while.
   */
  disconnected(options: { readonly byServer: boolean }): void {
    if (this.#connectedSince === undefined) {
      return;
    }
    const now = this.#clock.monotonicMs();
    const doubtedAt = monotonicAfter(now, -deadPeerMs);
    this.#aliveAt = options.byServer ? now : later(this.#receivedAt, doubtedAt);
    this.#connectedSince = undefined;
  }

  /** The server answered something. */
  answered(): void {
    this.#aliveAt = this.#clock.monotonicMs();
  }

  /** A list was answered, and is not applied because it lacks too much of what is known. */
  doubted(doubt: DoubtedList): void {
    this.#doubt = doubt;
  }

  /**
   * A list replaced everything. A consistent one shows all that was true when it was sent, unless
   * a read made before it, perhaps at another server, has already shown something newer.
   */
  listed(list: { sentAt: MonotonicMs; resourceVersion: string; consistent: boolean }): void {
    this.#resourceVersion = list.resourceVersion;
    this.#doubt = undefined;
    const contradicted = this.#unreached.some(
      (read) => read.sentAt <= list.sentAt && isOlder(list.resourceVersion, read.resourceVersion),
    );
    if (list.consistent && !contradicted) {
      this.#provedCurrent(list.sentAt);
      this.#unreached = this.#unreached.filter((read) => read.sentAt > list.sentAt);
    }
    // Every state after this one includes the reads of that version or an earlier one.
    this.#settleReads(list.resourceVersion, false);
    this.#check();
  }

  /** An event or a bookmark brought the watch to this version. */
  reached(resourceVersion: string): void {
    this.#eventAt = this.#receivedAt;
    const changed = resourceVersion !== this.#resourceVersion;
    this.#resourceVersion = resourceVersion;
    if (this.#provedBy === "events" && changed && this.#receivedAt !== undefined) {
      this.#provedCurrent(this.#receivedAt);
    }
    if (this.#unreached.length > 0) {
      this.#settleReads(resourceVersion, changed);
    }
    this.#check();
  }

  /** A quorum read was answered: `rewound` when the server's history has gone back since. */
  quorumRead(read: QuorumRead): "reached" | "unreached" | "rewound" {
    this.#provedBy = "quorum";
    if (isOlder(read.resourceVersion, read.reachedAtSending)) {
      return "rewound";
    }
    if (
      this.#resourceVersion !== undefined &&
      hasReached(this.#resourceVersion, read.resourceVersion)
    ) {
      this.#quorumProofs += 1;
      this.#provedCurrent(read.sentAt);
      return "reached";
    }
    this.#unreached.push(read);
    if (this.#unreached.length > maxUnreachedReads) {
      this.#unreached.shift();
    }
    this.#check();
    return "unreached";
  }

  /** Quorum reads are not allowed: events and bookmarks have to do. */
  quorumRefused(): void {
    this.#provedBy = "events";
  }

  freshness(): Freshness {
    const now = this.#clock.monotonicMs();
    const aliveAtMs = this.#connectedSince === undefined ? this.#aliveAt : now;
    const reason = this.#reasonAgainst(now, aliveAtMs);
    return {
      fresh: reason === undefined,
      reason,
      doubt: this.#doubt?.message,
      connectedSinceMs: this.#connectedSince,
      aliveAtMs,
      currentAtMs: this.#currentAt,
      resourceVersion: this.#resourceVersion,
      server: this.#server,
      provedBy: this.#provedBy,
    };
  }

  #reasonAgainst(now: MonotonicMs, aliveAt: MonotonicMs | undefined): string | undefined {
    if (this.#doubt !== undefined) {
      return this.#doubt.message;
    }
    if (this.#resourceVersion === undefined || aliveAt === undefined) {
      return "nothing has been listed yet";
    }
    const server = this.#server ?? "the server";
    const silentMs = elapsedMs(aliveAt, now);
    if (silentMs > this.#aliveWithinMs) {
      return `${server} has not been reached for over ${seconds(silentMs)}`;
    }
    if (this.#currentAt === undefined) {
      return `${server} is not yet known to be up to date`;
    }
    const ageMs = elapsedMs(this.#currentAt, now);
    return ageMs > this.#currentWithinMs
      ? `${server} has not been known to be up to date for over ${seconds(ageMs)}`
      : undefined;
  }

  /**
   * Every read up to the last one that was reached counts as reached: a later read never shows an
   * earlier version. Versions that cannot be ordered have to be believed when they change.
   */
  #settleReads(resourceVersion: string, changed: boolean): void {
    let settled = 0;
    for (const [index, read] of this.#unreached.entries()) {
      const order = compareResourceVersions(resourceVersion, read.resourceVersion);
      if (order === undefined ? changed : order >= 0) {
        settled = index + 1;
      }
    }
    const last = this.#unreached[settled - 1];
    if (last !== undefined) {
      this.#quorumProofs += settled;
      this.#provedCurrent(last.sentAt);
      this.#unreached = this.#unreached.slice(settled);
    }
  }

  #check(): void {
    const size = this.#unreached.length;
    assertCostly(() => this.#areUnreached(), "reads wait in order, until they are reached", size);
  }

  #areUnreached(): boolean {
    const reached = this.#resourceVersion;
    return this.#unreached.every(({ sentAt, resourceVersion }, index) => {
      const isInOrder = sentAt >= (this.#unreached[index - 1]?.sentAt ?? sentAt);
      return isInOrder && (reached === undefined || !hasReached(reached, resourceVersion));
    });
  }

  #provedCurrent(instant: MonotonicMs): void {
    this.#currentAt = later(this.#currentAt, instant);
  }
}

function later(a: MonotonicMs | undefined, b: MonotonicMs): MonotonicMs {
  return a !== undefined && a > b ? a : b;
}

/** Rounded down, and only ever said with "over": a reason is read long after it was written. */
function seconds(ms: number): string {
  return `${Math.floor(ms / 1000)} s`;
}
