// One replica of `lockstep assist`: it follows the cluster, competes for the Lease, and writes as the
// leader or stands by. The Lease is renewed while it leads, so its time says when a replica last lived.
import { Registry } from "prom-client";
import type { KubeClient } from "../../kube/client/client.ts";
import { LeaderElection } from "../../kube/leader/leader-election.ts";
import type { ObservedLeader } from "../../kube/leader/leader-lock.ts";
import { defaultElectionTimes, type ElectionTimes } from "../../kube/leader/leader-rules.ts";
import { LateRecord } from "./late-record.ts";
import { TwinKeeper, type TwinKeeperOptions } from "./twin-keeper.ts";
import { twinMetrics } from "./twin-metrics.ts";

export interface AssistReplicaOptions extends Omit<TwinKeeperOptions, "isLeading" | "metrics"> {
  /** For the Lease: never behind writes of twins. */
  readonly leaseClient: KubeClient;
  /** No two living processes may share it. */
  readonly identity: string;
  /** Kubernetes' own unless given. */
  readonly times?: ElectionTimes;
  readonly metrics?: Registry;
}

/** A crash loses the counts of so long. */
const recordEveryMs = 30_000;

const gaugesEveryMs = 5_000;

export class AssistReplica {
  readonly keeper: TwinKeeper;
  readonly #options: AssistReplicaOptions;
  readonly #election: LeaderElection;
  readonly #record: LateRecord;
  readonly #registry: Registry;

  constructor(options: AssistReplicaOptions) {
    this.#options = options;
    this.#registry = options.metrics ?? new Registry();
    const metrics = this.#registry;
    const election: LeaderElection = new LeaderElection({
      ...options,
      ...(options.times ?? defaultElectionTimes),
      client: options.leaseClient,
      lock: options.lease,
      releaseOnStop: true,
      metrics,
      onStartedLeading: (leading) => this.#lead(leading),
    });
    this.#election = election;
    this.keeper = new TwinKeeper({ ...options, metrics, isLeading: () => election.isLeader() });
    this.#record = new LateRecord({
      client: options.leaseClient,
      place: options.lease,
      clock: options.clock,
    });
  }

  get isLeading(): boolean {
    return this.#election.isLeader();
  }

  leader(): ObservedLeader | undefined {
    return this.#election.leader();
  }

  /** Why it is not of use yet, in words; undefined when it is. */
  get problem(): string | undefined {
    if (!this.keeper.view.isKnown) {
      return `not listed yet: ${this.keeper.view.waitingFor().join("; ")}`;
    }
    return this.keeper.view.isFresh ? undefined : "a watch is not up to date";
  }

  /** Runs until the signal aborts; then the Lease is free if it was ours. */
  async run(signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const all = AbortSignal.any([signal, over.signal]);
    const ends = async (work: Promise<void>): Promise<void> => {
      try {
        await work;
      } finally {
        over.abort(new Error("the replica has ended"));
      }
    };
    await Promise.all([
      ends(this.keeper.run(all)),
      ends(this.#election.run(all)),
      ends(this.#every(gaugesEveryMs, all, async () => this.#showGauges())),
    ]);
  }

  async #lead(leading: AbortSignal): Promise<void> {
    const { log } = this.#options;
    this.keeper.lookAgain();
    try {
      this.keeper.remember((await this.#record.read(leading)).reports);
    } catch (error) {
      if (leading.aborted) return;
      log.warn("cannot read the counts of the leader before; counting begins again", { error });
    }
    await this.#every(recordEveryMs, leading, () => this.#save(leading));
  }

  /** A failure costs counts and nothing else. */
  async #save(signal: AbortSignal): Promise<void> {
    try {
      await this.#record.write(this.keeper.lateness, signal);
    } catch (error) {
      if (!signal.aborted)
        this.#options.log.warn("cannot save the counts of late slices", { error });
    }
  }

  async #every(ms: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      await work();
      try {
        await this.#options.timers.sleep(ms, signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  #showGauges(): void {
    const metrics = twinMetrics(this.#registry);
    const { view } = this.keeper;
    metrics.leading.set(Number(this.isLeading));
    metrics.fresh.set(Number(view.isKnown && view.isFresh));
    const { kept, handedBack } = view.counts();
    metrics.twins.set({ state: "kept" }, kept);
    metrics.twins.set({ state: "handed back" }, handedBack);
    metrics.behind.set(this.keeper.oldestBehindMs(this.#options.clock.monotonicMs()) / 1000);
  }
}
