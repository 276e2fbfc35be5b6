// Watches whether the replicas serve. A proxy that was killed is started again within a second or so, and
// a person would miss that: an outage is a note for a while after its end.

import { type Clock, elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import { durationText } from "../../../environment/duration-text.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { SideName, SideReplica } from "../../../lab/comparison/side.ts";
import type { Replica } from "../../../server/api.ts";

export interface WatchedReplica extends Pick<SideReplica, "problem" | "proxyRun"> {
  readonly name: string;
  readonly kind: SideName;
}

export interface ReplicaWatchOptions extends Pick<Environment, "clock" | "timers"> {
  /** More may come later. */
  readonly replicas: () => readonly WatchedReplica[];
}

interface Outage {
  readonly replica: string;
  readonly problem: string;
  readonly beganAt: MonotonicMs;
  endedAt: MonotonicMs | undefined;
  /** It began and ended between two looks. */
  readonly isUnseen: boolean;
}

/** A restart of a proxy can be shorter: `proxyRun` shows that it happened. */
const lookEveryMs = 100;

/** An outage is noted for this long after its end. */
const notedMs = 60_000;
const outagesMax = 20;

export class ReplicaWatch {
  readonly #options: ReplicaWatchOptions;
  readonly #clock: Clock;
  /** Oldest first; the last one of a replica may still last. */
  #outages: Outage[] = [];
  /** The run of each replica's proxy at the last look. */
  readonly #runs = new Map<string, string>();
  #lastLookAt: MonotonicMs;

  constructor(options: ReplicaWatchOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#lastLookAt = options.clock.monotonicMs();
  }

  /** Looks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const now = this.#clock.monotonicMs();
      for (const replica of this.#options.replicas()) this.#look(replica, now);
      this.#lastLookAt = now;
      await this.#options.timers.sleep(lookEveryMs, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    }
  }

  /** As the page shows them. */
  replicas(): readonly Replica[] {
    return this.#options.replicas().map(({ name, kind }) => {
      const problem = this.#lasting(name)?.problem ?? null;
      const state = problem === null ? "connected" : "down";
      return { name, kind, state, reportedAt: null, problem };
    });
  }

  /** Outages that are over, each a sentence. */
  notes(): readonly string[] {
    const now = this.#clock.monotonicMs();
    return this.#outages.flatMap(({ replica, problem, beganAt, endedAt, isUnseen }) => {
      if (endedAt === undefined || elapsedMs(endedAt, now) > notedMs) return [];
      const lasted = `${isUnseen ? "up to " : ""}${durationText(elapsedMs(beganAt, endedAt))}`;
      return [`${replica} serves again. It did not for ${lasted}: ${problem}.`];
    });
  }

  #look({ name, problem, proxyRun }: WatchedReplica, now: MonotonicMs): void {
    const why = problem?.();
    const lasting = this.#lasting(name);
    const isRestarted = this.#isRestarted(name, proxyRun?.());
    if (lasting !== undefined) {
      if (why === undefined) lasting.endedAt = now;
    } else if (why !== undefined) {
      this.#note({ replica: name, problem: why, beganAt: now, endedAt: undefined });
    } else if (isRestarted) {
      const unseen = { problem: "nginx was started again", beganAt: this.#lastLookAt };
      this.#note({ replica: name, ...unseen, endedAt: now });
    }
  }

  #isRestarted(name: string, run: string | undefined): boolean {
    const before = this.#runs.get(name);
    if (run !== undefined) this.#runs.set(name, run);
    return before !== undefined && run !== undefined && run !== before;
  }

  #note(outage: Omit<Outage, "isUnseen">): void {
    const noted = { ...outage, isUnseen: outage.endedAt !== undefined };
    this.#outages = [...this.#outages, noted].slice(-outagesMax);
  }

  #lasting(name: string): Outage | undefined {
    return this.#outages.find(({ replica, endedAt }) => replica === name && endedAt === undefined);
  }
}
