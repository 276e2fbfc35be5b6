// Only for tests: an observer judged by the ledger in virtual time, where it must be exact: every
// change seen once, every lag the ledger's to the last digit, and the same hop found late. For that the
// observer's own messages take no time, so it receives a change in the instant of its commit;
// what all other machines send takes as long as ever.
import { expect } from "vitest";
import { replicaNames } from "../../src/lab/comparison/side.ts";
import type { ObserverAccuracy } from "../../src/lab/observed/observer-accuracy.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";
import type { Hop } from "../../src/timeline/witness.ts";

export interface ExpectedOfObserver {
  /** That the play makes; it may make any number unless given. */
  readonly changes?: number;
  /** The hop that the incident makes late; null when none is. */
  readonly late: Hop | null;
}

/** As many API servers as an incident has. */
const servers = ["blue", ...[2, 3, 4, 5].map((number) => `blue-server-${number}`)];

/** The observer's way to the API servers, and the way of Lockstep's replicas to their proxies. */
export function withoutDistance({ network }: Simulation): void {
  const atOnce = (): number => 0;
  for (const server of servers) network.setLatency("user", server, atOnce);
  for (const replica of replicaNames("lockstep")) network.setLatency(replica, replica, atOnce);
}

export function expectExact(
  accuracy: ObserverAccuracy,
  { changes, late }: ExpectedOfObserver,
): void {
  const { hops, ...found } = accuracy;
  expect(found).toEqual({
    changes: changes ?? found.changes,
    missed: 0,
    invented: 0,
    slowestHop: { observed: late, ledger: late },
  });
  expect(hops.filter(({ maxMs }) => maxMs !== 0)).toEqual([]);
  expect(hops.map(({ hop }) => hop)).toEqual(
    found.changes === 0 ? [] : ["pod", "published", "routed"],
  );
}
