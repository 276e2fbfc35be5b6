// Watches whether the replicas serve. A proxy that was killed is started again within a second or so, and
// a person would miss that: an outage is a note for a while after its end.

import { type Clock, elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import { durationText } from "../../../environment/duration-text.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { SideName, SideReplica } from "../../../lab/comparison/side.ts";
import type { Replica } from "../../../server/api.ts";

export interface WatchedReplica extends Pick<SideReplica, "problem"> {
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
}

/** Shorter than any restart of a proxy. */
const lookEveryMs = 100;

/** An outage is noted for this long after its end. */
const notedMs = 60_000;
const outagesMax = 20;

export class ReplicaWatch {
  readonly #options: ReplicaWatchOptions;
  readonly #clock: Clock;
  /** Oldest first; the last one of a replica may still last. */
  #outages: Outage[] = [];

  constructor(options: ReplicaWatchOptions) {
    this.#options = options;
    this.#clock = options.clock;
  }

  /** Looks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const replica of this.#options.replicas()) this.#look(replica);
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
    return this.#outages.flatMap(({ replica, problem, beganAt, endedAt }) =>
      endedAt === undefined || elapsedMs(endedAt, now) > notedMs
        ? []
        : [
            `${replica} serves again. It did not for ${durationText(elapsedMs(beganAt, endedAt))}: ${problem}.`,
          ],
    );
  }

  #look({ name, problem }: WatchedReplica): void {
    const why = problem?.();
    const lasting = this.#lasting(name);
    const now = this.#clock.monotonicMs();
    if (why === undefined && lasting !== undefined) lasting.endedAt = now;
    if (why === undefined || lasting !== undefined) return;
    const outage = { replica: name, problem: why, beganAt: now, endedAt: undefined };
    this.#outages = [...this.#outages, outage].slice(-outagesMax);
  }

  #lasting(name: string): Outage | undefined {
    return this.#outages.find(({ replica, endedAt }) => replica === name && endedAt === undefined);
  }
}
