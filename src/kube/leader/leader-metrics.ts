// The leader as metrics: the gauge that every Kubernetes component has, and the state of the lock.
// Computed at each scrape, so that an expired leadership shows at once.
import { Counter, Gauge } from "prom-client";
import { oncePerRegistry } from "../metrics-of-registry.ts";
import type { ObservedLeader } from "./leader-lock.ts";

/** `ours`: taken or renewed; `others`: held by someone else; `aside`: left; `failed`: no answer. */
export type LockOutcome = "ours" | "others" | "aside" | "failed";

export const leaderMetrics = oncePerRegistry((registry) => {
  const elections = new Map<string, () => boolean>();
  const registers = [registry];
  new Gauge({
    name: "leader_election_master_status",
    help: "1 while this process is the leader of this lock, else 0",
    labelNames: ["name"] as const,
    registers,
    collect() {
      this.reset();
      for (const [name, isLeader] of elections) this.set({ name }, isLeader() ? 1 : 0);
    },
  });
  const holders = new Map<string, () => ObservedLeader | undefined>();
  new Gauge({
    name: "lockstep_leader_since_seconds",
    help: "Time since the holder has the lock, as a Unix timestamp in seconds, if known",
    labelNames: ["name", "holder"] as const,
    registers,
    collect() {
      this.reset();
      for (const [name, leader] of holders) {
        const { identity: holder, since } = leader() ?? {};
        const sinceMs = Date.parse(since ?? "");
        if (holder !== undefined && !Number.isNaN(sinceMs)) {
          this.set({ name, holder }, sinceMs / 1_000);
        }
      }
    },
  });
  return {
    /** By the name of their lock, who is known to hold it. */
    holders,
    /** Elections that run, by the name of their lock. */
    elections,
    attempts: new Counter({
      name: "lockstep_leader_attempts_total",
      help: "Attempts to take or renew the lock, by result",
      labelNames: ["name", "outcome"] as const,
      registers,
    }),
    terms: new Counter({
      name: "lockstep_leader_terms_total",
      help: "Number of times this process became the leader",
      labelNames: ["name"] as const,
      registers,
    }),
  };
});
