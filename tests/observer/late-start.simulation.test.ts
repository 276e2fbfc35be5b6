// An observer that starts while slices and pods disagree: it must show each disagreement soon, and when
// it ended.
import { expect } from "vitest";
import { randomBetween } from "../../src/environment/random.ts";
import { forEachSeed } from "../../src/simulation/seeds.ts";
import { simulate } from "../../src/simulation/simulation.ts";
import type { Journey } from "../../src/timeline/journey.ts";
import { ProofWorld } from "./proof-world.ts";
import { keyOf, type ReportedEndpoints } from "./reported-endpoints.ts";

/** Until nothing is waited for any more, requests included. */
const quietMs = 120_000;

/** How soon a disagreement is shown that was there when everything had been listed. */
const shownWithinMs = 5_000;

forEachSeed(
  "what pods and slices disagree about at the start is in flight within seconds",
  { seeds: 6 },
  (seed) =>
    simulate({ seed }, async (simulation) => {
      const { random } = simulation;
      const world = new ProofWorld(simulation, { isCalm: true });
      await world.furnish();
      for (let count = 0; count < 15; count += 1) {
        await simulation.sleep(randomBetween(random, 0, 1_000));
        await world.act();
      }
      await world.observe();
      const { run } = world;
      const reported = [...run.reported.values()];
      const before = new Map(reported.map((one) => [one, disagreementsOf(one)]));
      await simulation.sleep(shownWithinMs);
      const pending = new Set(run.observer.journeys.pending().map(keyOfJourney));
      for (const one of reported) {
        const after = disagreementsOf(one);
        const isOpen = (key: string): boolean => after.has(key) && !hasChanged(one, key);
        const lasting = [...(before.get(one) ?? [])].filter(isOpen);
        for (const key of lasting) expect([...pending], "not in flight").toContain(key);
      }
      await world.settled();
      await simulation.sleep(quietMs);
      expect(run.observer.journeys.pending()).toEqual([]);
      const begun = run.over.filter(({ origin }) => origin.beforeStart);
      for (const [one, keys] of before) {
        for (const key of keys) judgeEnd(one, key, begun, run.startedAt);
      }
      await world.endRun();
      await world.stop();
    }),
);

/** Endpoints that only one of pods and slices has. */
function disagreementsOf(reported: ReportedEndpoints): ReadonlySet<string> {
  const made = reported.keysAt("pod");
  const published = reported.keysAt("published");
  const isOfPods = (key: string): boolean => !key.includes("shop/ext");
  return new Set(
    [...made, ...published].filter((key) => isOfPods(key) && made.has(key) !== published.has(key)),
  );
}

/** Whether the pod itself has changed since the lists: then that is a change of its own. */
function hasChanged(reported: ReportedEndpoints, key: string): boolean {
  return reported.changes.some((one) => one.key === key && one.how !== "baseline");
}

/** Where the slices alone changed afterwards, the journey says when they did. */
function judgeEnd(
  reported: ReportedEndpoints,
  key: string,
  begun: readonly Journey[],
  startedAt: number,
): void {
  const changes = reported.changes.filter((one) => one.key === key && one.how !== "baseline");
  const [first] = changes;
  if (first?.hop !== "published" || changes.some(({ hop }) => hop === "pod")) return;
  const journey = begun.find((one) => keyOfJourney(one) === key);
  const shown = journey?.hops.find(({ hop }) => hop === "published")?.state;
  expect(shown?.type).toBe("shown");
  const endedAt = (journey?.origin.at ?? 0) + (shown?.type === "shown" ? shown.lagMs : 0);
  expect(endedAt).toBeCloseTo(first.at, 3);
  expect(journey?.origin.at).toBeGreaterThanOrEqual(startedAt);
}

function keyOfJourney({ endpoint }: Journey): string {
  const { cluster = "", service, address, port, podUid = "" } = endpoint;
  return keyOf(cluster, service, { address, port, uid: podUid });
}
