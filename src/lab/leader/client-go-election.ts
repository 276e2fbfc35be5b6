// Leader election like client-go's LeaderElector, for components that the lab models. It differs from
// Lockstep's own election: a displaced holder leads until its renew deadline has passed, and nothing
// fences its writes meanwhile. It never checks that a holder exists: the last writer has the lock.
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { jitter } from "../../environment/random.ts";
import { type KubeClient, StatusError } from "../../kube/client/client.ts";
import {
  checkElectionTimes,
  type ElectionTimes,
  heldRecord,
  mayTake,
  retryJitterFactor,
} from "../../kube/leader/leader-rules.ts";
import type { LockVersion, RequestLimits } from "../../kube/leader/lease-lock.ts";
import {
  type LeaderRecord,
  type LockReference,
  recordText,
} from "../../kube/leader/lease-record.ts";
import { lockTime, readLockObject, writeLockObject } from "./lock-object.ts";

export interface ClientGoElectionOptions
  extends ElectionTimes,
    Pick<Environment, "clock" | "timers" | "random"> {
  readonly client: KubeClient;
  readonly lock: LockReference;
  /** Gets the same record after each write, for those who look there. */
  readonly mirror?: LockReference;
  readonly identity: string;
  /** Up to 1.26 a candidate waits for its own configured duration, since then for the record's. */
  readonly waitsFor: "own duration" | "recorded duration";
  /** Since 1.30 a holder writes on top of its last write, and reads only when that fails. */
  readonly renewsUnread: boolean;
  /** Began; the signal aborts when the lock is lost or the process ends. */
  readonly onStartedLeading: (leading: AbortSignal) => void;
  readonly onStoppedLeading?: () => void;
  /** Someone else than before holds the lock; it may be this process. */
  readonly onNewLeader?: (identity: string) => void;
  /** Each try that did not give the lock, and why. */
  readonly onMissed?: (missed: MissedTry) => void;
}

/** The step at which a try failed; `unread update`: a holder writes without reading first. */
export type TryStep = "read" | "create" | "update" | "unread update";

export type MissedTry =
  | { readonly kind: "held"; readonly holder: string }
  /** `isConflict`: another candidate wrote since the version that the write was based on. */
  | {
      readonly kind: "failed";
      readonly at: TryStep;
      readonly isConflict: boolean;
      readonly text: string;
    };

export class ClientGoElection {
  readonly #options: ClientGoElectionOptions;
  /** The record as last seen and when it was first seen so, on our own clock. */
  #observed: { version: LockVersion; text: string; at: MonotonicMs } | undefined;
  #reportedLeader = "";

  constructor(options: ClientGoElectionOptions) {
    checkElectionTimes(options);
    this.#options = options;
  }

  /** Of the record as last seen: what IsLeader compares. */
  isHolder(): boolean {
    return this.#observed?.version.record.holder === this.#options.identity;
  }

  /** One term: competes, leads, and resolves when the lock is lost or the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (!(await this.#acquire(signal))) return;
    const leading = new AbortController();
    const stop = () => leading.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    this.#options.onStartedLeading(leading.signal);
    while (await this.#renew(signal)) await this.#pause(this.#options.retryPeriodMs, signal);
    signal.removeEventListener("abort", stop);
    leading.abort(new Error("the leader lock is lost"));
    this.#options.onStoppedLeading?.();
  }

  /** acquire in leaderelection.go; false when the signal aborted first. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { random, retryPeriodMs } = this.#options;
    while (!signal.aborted) {
      if (await this.#try(signal)) return true;
      await this.#pause(jitter(random, retryPeriodMs, retryJitterFactor), signal);
    }
    return false;
  }

  /** One round of renew in leaderelection.go: tries until one succeeds or the deadline has passed. */
  async #renew(signal: AbortSignal): Promise<boolean> {
    const { timers, renewDeadlineMs, retryPeriodMs } = this.#options;
    const deadline = new AbortController();
    const cancel = timers.after(renewDeadlineMs, () => deadline.abort());
    const round = AbortSignal.any([signal, deadline.signal]);
    try {
      while (!round.aborted) {
        if (await this.#try(round)) return !signal.aborted;
        await this.#pause(retryPeriodMs, round);
      }
      return false;
    } finally {
      cancel();
    }
  }

  /** tryAcquireOrRenew in leaderelection.go. */
  async #try(signal: AbortSignal): Promise<boolean> {
    const hasLock = await this.#tryAcquireOrRenew(signal);
    this.#reportLeader();
    return hasLock;
  }

  async #tryAcquireOrRenew(signal: AbortSignal): Promise<boolean> {
    const { renewsUnread, onMissed } = this.#options;
    if (renewsUnread && this.isHolder()) {
      if (await this.#write("unread update", this.#observed?.version, signal)) return true;
    }
    const read = await this.#read(signal);
    if (read === undefined) return false;
    const { current } = read;
    if (current === undefined) return await this.#write("create", undefined, signal);
    this.#observe(current);
    if (this.#mayTake(current)) return await this.#write("update", current, signal);
    onMissed?.({ kind: "held", holder: current.record.holder });
    return false;
  }

  /** Undefined when it failed. */
  async #read(
    signal: AbortSignal,
  ): Promise<{ readonly current: LockVersion | undefined } | undefined> {
    const { client, lock } = this.#options;
    try {
      return { current: await readLockObject(client, lock, this.#limits(signal)) };
    } catch (error) {
      this.#missed("read", error, signal);
      return undefined;
    }
  }

  /** False when it failed. */
  async #write(
    at: TryStep,
    current: LockVersion | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { client, clock, lock, mirror, identity, leaseDurationMs } = this.#options;
    const now = lockTime(lock, clock.wallMs());
    const record = heldRecord({ previous: current?.record, identity, leaseDurationMs, now });
    try {
      this.#observe(await writeLockObject(client, lock, current, record, this.#limits(signal)));
      if (mirror !== undefined) await mirrorRecord(client, mirror, record, this.#limits(signal));
      return true;
    } catch (error) {
      this.#missed(at, error, signal);
      return false;
    }
  }

  #missed(at: TryStep, error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    const isConflict = error instanceof StatusError && error.code === 409;
    const text = error instanceof Error ? error.message : String(error);
    this.#options.onMissed?.({ kind: "failed", at, isConflict, text });
  }

  /** The real one sets none of its own; a request that outlives its round is given up with it. */
  #limits(signal: AbortSignal): RequestLimits {
    return { deadlineMs: this.#options.renewDeadlineMs, signal };
  }

  #mayTake({ record }: LockVersion): boolean {
    const { clock, identity, waitsFor, leaseDurationMs } = this.#options;
    const unchangedMs = elapsedMs(this.#observed?.at ?? clock.monotonicMs(), clock.monotonicMs());
    const waited = waitsFor === "own duration" ? { ...record, leaseDurationMs } : record;
    return mayTake({ record: waited, identity, unchangedMs, mayDepose: false });
  }

  #observe(version: LockVersion): void {
    const text = recordText(version.record);
    const known = this.#observed;
    const at = known?.text === text ? known.at : this.#options.clock.monotonicMs();
    this.#observed = { version, text, at };
  }

  #reportLeader(): void {
    const holder = this.#observed?.version.record.holder ?? "";
    if (holder === this.#reportedLeader) return;
    this.#reportedLeader = holder;
    this.#options.onNewLeader?.(holder);
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.timers.sleep(ms, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

/** Throws as the client does. */
async function mirrorRecord(
  client: KubeClient,
  mirror: LockReference,
  record: LeaderRecord,
  limits: RequestLimits,
): Promise<void> {
  const current = await readLockObject(client, mirror, limits);
  const { acquireTime, renewTime } = record;
  const precise = { ...record, acquireTime: micro(acquireTime), renewTime: micro(renewTime) };
  await writeLockObject(client, mirror, current, precise, limits);
}

/** A Lease has six digits, whatever the annotation has. */
function micro(time: string | undefined): string | undefined {
  return time?.replace(/(?:\.\d+)?Z$/, ".000000Z");
}
