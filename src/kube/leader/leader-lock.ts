// One replica's dealings with the Lease: a single try to take or keep it, what it has seen of it,
// and setting it free. When to try, and what leading means, is `leader-election.ts`.
import type { Clock, MonotonicMs } from "../../environment/clock.ts";
import { elapsedMs, monotonicAfter } from "../../environment/clock.ts";
import { DeadlineExceededError, type KubeClient, StatusError } from "../client/client.ts";
import { type ElectionTimes, freeRecord, heldRecord, mayTake, renewStamp } from "./leader-rules.ts";
import {
  createLease,
  type LockVersion,
  type RequestLimits,
  readLock,
  updateLease,
} from "./lease-lock.ts";
import { type LockReference, recordText } from "./lease-record.ts";

export interface LeaderLockOptions extends ElectionTimes {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** The Lease. */
  readonly lock: { readonly namespace: string; readonly name: string };
  /** No two living processes may share it. */
  readonly identity: string;
  /** Someone else than before holds the lock; it may be us. */
  readonly onNewLeader?: (identity: string) => void;
  /** True if this holder provably does not exist and we are allowed to take its lock. */
  readonly mayDepose?: (holder: string) => boolean;
  /** Asked before a lock that is not ours is taken: false if we ourselves provably do not exist. */
  readonly mayStand?: (signal: AbortSignal) => Promise<boolean>;
}

/** The lock's holder, as known to any replica. */
export interface ObservedLeader {
  readonly identity: string;
  /** By the holder's clock. */
  readonly since: string | undefined;
  readonly renewTime: string | undefined;
  readonly transitions: number;
  /** The record has not changed for its duration: the holder is presumably gone. */
  readonly isExpired: boolean;
}

export type TryOutcome =
  /** We hold the lock and may act on it strictly before `until`. */
  | { readonly kind: "ours"; readonly until: MonotonicMs }
  | { readonly kind: "others"; readonly holder: string }
  /** We could take the lock and must not. */
  | { readonly kind: "aside" }
  | { readonly kind: "failed"; readonly error: unknown };

/** Our last renewal may still be in progress when we release; no other process writes our lock. */
const releaseConflictsMax = 1;

export class LeaderLock {
  readonly reference: LockReference;
  readonly #options: LeaderLockOptions;
  /** The lock as last read or written, and when this record was first seen, on our clock. */
  #observed: { version: LockVersion; text: string; at: MonotonicMs } | undefined;
  #reportedLeader = "";
  #writes = 0;

  constructor(options: LeaderLockOptions) {
    this.#options = options;
    this.reference = { kind: "Lease", ...options.lock };
  }

  /** Undefined if the lock has no holder or has not been read yet. */
  leader(): ObservedLeader | undefined {
    const record = this.#observed?.version.record;
    if (record === undefined || record.holder === "") return undefined;
    return {
      identity: record.holder,
      since: record.acquireTime,
      renewTime: record.renewTime,
      transitions: record.transitions,
      isExpired: this.#unchangedMs() >= record.leaseDurationMs,
    };
  }

  /** A candidate's try: read the lock, and write it if it may be taken. */
  async tryTake(signal: AbortSignal): Promise<TryOutcome> {
    try {
      const current = await readLock(this.#options.client, this.reference, this.#limits(signal));
      if (current !== undefined) {
        this.#observe(current);
        if (!this.#mayTake(current)) return { kind: "others", holder: current.record.holder };
      }
      const { identity, mayStand } = this.#options;
      const isOurs = current?.record.holder === identity;
      if (!isOurs && (await mayStand?.(signal)) === false) return { kind: "aside" };
      return await this.#tryWrite(current, signal);
    } catch (error) {
      return { kind: "failed", error };
    }
  }

  /** The holder's try: it writes on top of what it wrote last, and reads only if that fails. */
  async tryRenew(signal: AbortSignal): Promise<TryOutcome> {
    if (this.#observed?.version.record.holder === this.#options.identity) {
      const renewed = await this.#tryWrite(this.#observed.version, signal);
      if (renewed.kind === "ours") return renewed;
    }
    return await this.tryTake(signal);
  }

  /** Frees the lock if it is ours. Throws as the client does. */
  async release(): Promise<void> {
    for (let conflicts = 0; ; conflicts++) {
      try {
        await this.#tryRelease();
        return;
      } catch (error) {
        const isConflict = error instanceof StatusError && error.code === 409;
        if (!isConflict || conflicts === releaseConflictsMax) throw error;
      }
    }
  }

  async #tryRelease(): Promise<void> {
    const { client, identity } = this.#options;
    const current = await readLock(client, this.reference, this.#limits());
    if (current?.record.holder !== identity) return;
    const record = freeRecord(current.record, this.#stamp());
    this.#observe(await updateLease(client, this.reference, current, record, this.#limits()));
  }

  async #tryWrite(current: LockVersion | undefined, signal: AbortSignal): Promise<TryOutcome> {
    const { client, clock, identity, leaseDurationMs, renewDeadlineMs } = this.#options;
    const now = this.#stamp();
    const record = heldRecord({ previous: current?.record, identity, leaseDurationMs, now });
    const limits = this.#limits(signal);
    // Others count from when they see this write, which is later than now.
    const until = monotonicAfter(clock.monotonicMs(), renewDeadlineMs);
    try {
      const written =
        current === undefined
          ? await createLease(client, this.reference, record, limits)
          : await updateLease(client, this.reference, current, record, limits);
      this.#observe(written);
    } catch (error) {
      return { kind: "failed", error };
    }
    if (clock.monotonicMs() < until) return { kind: "ours", until };
    const error = new DeadlineExceededError("the lock was written, but the answer came too late");
    return { kind: "failed", error };
  }

  #mayTake({ record }: LockVersion): boolean {
    const { identity, mayDepose } = this.#options;
    return mayTake({
      record,
      identity,
      unchangedMs: this.#unchangedMs(),
      mayDepose: mayDepose?.(record.holder) === true,
    });
  }

  #observe(version: LockVersion): void {
    const text = recordText(version.record);
    const known = this.#observed;
    const at = known?.text === text ? known.at : this.#options.clock.monotonicMs();
    this.#observed = { version, text, at };
    const { holder } = version.record;
    if (holder === this.#reportedLeader) return;
    this.#reportedLeader = holder;
    if (holder !== "") this.#options.onNewLeader?.(holder);
  }

  #unchangedMs(): number {
    const now = this.#options.clock.monotonicMs();
    return this.#observed === undefined ? 0 : elapsedMs(this.#observed.at, now);
  }

  #stamp(): string {
    this.#writes += 1;
    return renewStamp(this.#options.clock.wallMs(), this.#writes);
  }

  /** Half the renew deadline leaves time for a second try, as Kubernetes' components have it. */
  #limits(signal?: AbortSignal): RequestLimits {
    const deadlineMs = this.#options.renewDeadlineMs / 2;
    return signal === undefined ? { deadlineMs } : { deadlineMs, signal };
  }
}
