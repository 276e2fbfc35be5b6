// Leader election over a Lease, as in client-go. A candidate takes the lock when its record has not
// changed for the lease duration on the candidate's own clock. The holder renews it, and steps down
// when renewals fail until the renew deadline. That deadline counts from the sending of the last
// successful renewal. The lease duration is longer, and others count it from a later moment. So no
// two replicas lead at once, if their clocks run at the same rate and the Lease is not edited or
// deleted by hand.

import { Registry } from "prom-client";
import { assert } from "../../environment/assert.ts";
import { type MonotonicMs, monotonicAfter } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import { jitter, type Random } from "../../environment/random.ts";
import type { Timers } from "../../environment/timers.ts";
import { LeaderFence } from "./leader-fence.ts";
import { LeaderLock, type LeaderLockOptions, type ObservedLeader } from "./leader-lock.ts";
import { type LockOutcome, leaderMetrics } from "./leader-metrics.ts";
import { checkElectionTimes, retryJitterFactor } from "./leader-rules.ts";

export interface LeaderElectionOptions extends LeaderLockOptions {
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  /** Free the lock when stopping, so that the next leader need not wait for it to expire. */
  readonly releaseOnStop: boolean;
  /** The leader's work; the signal aborts when leading ends. A failure is logged. */
  readonly onStartedLeading: (signal: AbortSignal) => void | Promise<void>;
  readonly onStoppedLeading?: () => void;
  readonly metrics?: Registry;
}

/** `stepping-down`: leads no more and lets the leader's work end before it competes again. */
export type ElectionState = "idle" | "candidate" | "leading" | "stepping-down" | "stopped";

export class LeaderElection {
  /** Guards what only the leader may do. */
  readonly fence: LeaderFence;
  readonly #options: LeaderElectionOptions;
  readonly #lock: LeaderLock;
  readonly #log: Log;
  readonly #metrics: ReturnType<typeof leaderMetrics>;
  #state: ElectionState = "idle";

  constructor(options: LeaderElectionOptions) {
    checkElectionTimes(options);
    this.#options = options;
    this.#lock = new LeaderLock(options);
    this.#log = options.log.child({ lock: this.#lock.reference, identity: options.identity });
    this.fence = new LeaderFence(options);
    this.#metrics = leaderMetrics(options.metrics ?? new Registry());
  }

  get state(): ElectionState {
    return this.#state;
  }

  isLeader(): boolean {
    return this.fence.isLeading();
  }

  /**
   * The holder of the lock and since when; undefined if the lock has no holder or has not been read
   * yet.
   */
  leader(): ObservedLeader | undefined {
    return this.#lock.leader();
  }

  /** Competes, leads, competes again, until the signal aborts; then steps down and resolves. */
  async run(signal: AbortSignal): Promise<void> {
    const { name } = this.#lock.reference;
    const isLeader = () => this.isLeader();
    const leader = () => this.leader();
    this.#metrics.elections.set(name, isLeader);
    this.#metrics.holders.set(name, leader);
    while (!signal.aborted) {
      this.#state = "candidate";
      const until = await this.#acquire(signal);
      if (until !== undefined) await this.#lead(until, signal);
    }
    this.#state = "stopped";
    if (this.#metrics.elections.get(name) === isLeader) this.#metrics.elections.delete(name);
    if (this.#metrics.holders.get(name) === leader) this.#metrics.holders.delete(name);
  }

  async #acquire(signal: AbortSignal): Promise<MonotonicMs | undefined> {
    const { random, retryPeriodMs } = this.#options;
    while (!signal.aborted) {
      const outcome = await this.#lock.tryTake(signal);
      this.#count(outcome.kind);
      if (outcome.kind === "ours") return outcome.until;
      if (outcome.kind === "failed" && !signal.aborted) {
        this.#log.warn("cannot try to take the leader lock", { error: outcome.error });
      }
      await this.#pause(jitter(random, retryPeriodMs, retryJitterFactor), signal);
    }
    return undefined;
  }

  async #lead(until: MonotonicMs, stop: AbortSignal): Promise<void> {
    this.#checkEnd(until);
    const leading = this.fence.grant(until);
    const onStop = () => this.fence.revoke("it is stopping");
    stop.addEventListener("abort", onStop, { once: true });
    if (stop.aborted) onStop();
    this.#state = "leading";
    this.#log.info("started leading");
    this.#metrics.terms.inc({ name: this.#lock.reference.name });
    const work = this.#work(leading);
    await this.#renew(leading);
    stop.removeEventListener("abort", onStop);
    this.#state = "stepping-down";
    this.#log.info("stopped leading", { reason: leading.reason });
    this.#options.onStoppedLeading?.();
    const hasEnded = await this.#workEnded(work);
    if (hasEnded && stop.aborted && this.#options.releaseOnStop) await this.#release();
  }

  async #work(leading: AbortSignal): Promise<void> {
    try {
      await this.#options.onStartedLeading(leading);
    } catch (error) {
      if (!leading.aborted) this.#log.error("the leader's work failed", { error });
    }
  }

  /** Renews until leading has ended for whatever reason. */
  async #renew(leading: AbortSignal): Promise<void> {
    for (;;) {
      await this.#pause(this.#options.retryPeriodMs, leading);
      if (leading.aborted) return;
      const outcome = await this.#lock.tryRenew(leading);
      this.#count(outcome.kind);
      if (leading.aborted) return;
      switch (outcome.kind) {
        case "ours":
          this.#checkEnd(outcome.until);
          this.fence.extend(outcome.until);
          break;
        case "others":
          this.fence.revoke(`the lock is held by ${outcome.holder}`);
          break;
        case "aside":
          this.fence.revoke("the lock was lost, and it must not be taken again");
          break;
        case "failed":
          this.#log.warn("cannot renew the leader lock", { error: outcome.error });
          break;
      }
    }
  }

  /** The sending of the renewal was before now, so what is left is at most the whole deadline. */
  #checkEnd(until: MonotonicMs): void {
    const { clock, renewDeadlineMs } = this.#options;
    const latest = monotonicAfter(clock.monotonicMs(), renewDeadlineMs);
    assert(until <= latest, "leading ends by the renew deadline after the last renewal");
  }

  /** False if the work continues after the request to stop; the lock is then left to expire. */
  async #workEnded(work: Promise<void>): Promise<boolean> {
    const { timers, renewDeadlineMs } = this.#options;
    const patience = new AbortController();
    const hasEnded = await Promise.race([
      Promise.all([work, this.fence.settled()]).then(() => true),
      timers.sleep(renewDeadlineMs, patience.signal).then(
        () => false,
        () => true,
      ),
    ]);
    patience.abort();
    if (!hasEnded)
      this.#log.error(
        "work of the leader still runs although this replica is no longer the leader",
      );
    return hasEnded;
  }

  #count(outcome: LockOutcome): void {
    this.#metrics.attempts.inc({ name: this.#lock.reference.name, outcome });
  }

  async #release(): Promise<void> {
    try {
      await this.#lock.release();
    } catch (error) {
      this.#log.warn("cannot release the leader lock; it will expire", { error });
    }
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.timers.sleep(ms, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
