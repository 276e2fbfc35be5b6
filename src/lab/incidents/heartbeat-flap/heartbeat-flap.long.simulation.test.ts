// The flaps of late nodes, compared with what follows from the gaps, the grace and the period by
// hand. A heartbeat is seen at the next look, u after it, u uniform in one period. The node is given
// up at the first look that finds the grace over: k periods later, k the least with k × period ≥
// grace, for looks are a little more than a period apart. So a gap flaps when it is longer than
// u + k × period.
import { describe, expect, test } from "vitest";
import { expectExact, withoutDistance } from "../../../../tests/observer/exact-observer.ts";
import { forEachSeed, isThorough } from "../../../simulation/seeds.ts";
import { replicas } from "../../comparison/side.ts";
import { shopReplicas } from "../../shop.ts";
import type { IncidentFindings } from "../incident.ts";
import { playInVirtualTime, VirtualStages } from "../virtual-stage.ts";
import { type LateNodes, type LateNodesFindings, watchLateNodes } from "./late-nodes.ts";
import { heartbeatFlap, playDeadNode, playFlaps } from "./play.ts";

const hourMs = 3_600_000;

const writeUp: LateNodes = {
  profile: "1.7",
  gaps: { status: { minMs: 20_000, maxMs: 50_000 } },
  nodes: 8,
  forMs: 3 * hourMs,
  graceMs: 40_000,
  monitorMs: 5_000,
};

/** The share of gaps that flap: the mean over u of how much of the range of gaps is too long. */
function flapShare({ gaps, graceMs, monitorMs }: LateNodes): number {
  const { minMs, maxMs } = gaps.status ?? { minMs: 0, maxMs: 0 };
  const silentMs = Math.ceil(graceMs / monitorMs) * monitorMs;
  const tooLong = (limitMs: number) => Math.min(Math.max(maxMs - limitMs, 0), maxMs - minMs);
  // The mean of a function that is linear but for two corners: fine steps are exact enough.
  const steps = 10_000;
  let sum = 0;
  for (let step = 0; step < steps; step += 1) {
    sum += tooLong(silentMs + ((step + 0.5) / steps) * monitorMs);
  }
  return sum / steps / (maxMs - minMs);
}

test("the formula gives the write-up's quarter, and what can be computed in the head", () => {
  expect(flapShare(writeUp)).toBeCloseTo(7.5 / 30);
  expect(flapShare({ ...writeUp, graceMs: 60_000 })).toBe(0);
  expect(flapShare({ ...writeUp, graceMs: 41_000 })).toBeCloseTo(2.5 / 30);
  const quick = { minMs: 10_000, maxMs: 30_000 };
  expect(flapShare({ ...writeUp, gaps: { status: quick }, graceMs: 20_000 })).toBeCloseTo(7.5 / 20);
});

function watch(seed: number, late: LateNodes): Promise<LateNodesFindings> {
  return new VirtualStages({ seed }).open((stage) => watchLateNodes(stage, late));
}

/** Four standard deviations of so many gaps that flap or not. */
function expectShare({ flaps, heartbeats }: LateNodesFindings, share: number): void {
  const spread = 4 * Math.sqrt((share * (1 - share)) / heartbeats);
  expect(Math.abs(flaps / heartbeats - share)).toBeLessThanOrEqual(spread);
}

const quickNodes: LateNodes = {
  ...writeUp,
  gaps: { status: { minMs: 10_000, maxMs: 30_000 } },
  nodes: 3,
  forMs: isThorough(process.env) ? hourMs / 3 : hourMs / 10,
  graceMs: 20_000,
};

forEachSeed("late nodes flap as often as their gaps say", { seeds: 1 }, async (seed) => {
  const found = await watch(seed, quickNodes);
  expectShare(found, flapShare(quickNodes));
  // The kubelet's own period ends an outage, and nothing else.
  expect(found.outagesMs.at(-1)).toBeLessThan(10_100);
  expect(found.shareOfFlipsInTime).toBe(0);
});

describe.runIf(isThorough(process.env))("over hours", () => {
  test.each([
    ["as in the write-up", writeUp],
    ["with a grace between two looks", { ...writeUp, graceMs: 41_000 }],
    ["with a slow monitor", { ...writeUp, monitorMs: 10_000, graceMs: 25_000 }],
  ])("%s", async (_, late) => {
    const found = await watch(7, late);
    expectShare(found, flapShare(late));
    const meanGapMs = 35_000;
    const perHour = found.flaps / found.nodeHours;
    expect(perHour).toBeCloseTo((flapShare(late) * hourMs) / meanGapMs, -1);
    expect(found.outagesMs.at(0)).toBeLessThan(1_000);
    expect(found.outagesMs.at(-1)).toBeLessThan(10_100);
  });

  const short = { ...writeUp, nodes: 4, forMs: hourMs };
  const { status } = writeUp.gaps;

  test("none flaps with 60 s of grace", async () => {
    expect((await watch(7, { ...short, graceMs: 60_000 })).flaps).toBe(0);
  });

  test.each(["1.17.3", "1.33"] as const)(
    "%s: timely Leases prevent them, late ones do not",
    async (profile) => {
      const timely = await watch(7, { ...short, profile, gaps: status ? { status } : {} });
      expect(timely.flaps).toBe(0);
      const late = await watch(7, { ...short, profile, gaps: status ? { lease: status } : {} });
      // After a flap the kubelet's own status counts as a sign too, so that some gaps are shorter.
      const share = late.flaps / ((late.nodeHours * hourMs) / 35_000);
      expect(share).toBeGreaterThan(0.15);
      expect(share).toBeLessThan(0.3);
      expect([late.missedLinesAtOnce, late.shareOfFlipsInTime]).toEqual([4, 1]);
    },
  );

  test("a shop on a late node loses live endpoints with stock and none with Lockstep", async () => {
    const stages = new VirtualStages({ seed: 1, onOpened: withoutDistance });
    const findings = await playFlaps(stages.open, {
      late: { ...writeUp, nodes: 1, forMs: 60_000 },
      trafficMs: hourMs / 2,
      withLeases: false,
    });
    expect(measure(findings, "live-endpoints-removed").lockstep).toBe(0);
    expect(measure(findings, "live-endpoints-removed").stock).toBeGreaterThan(10);
    expect(measure(findings, "requests-lost").lockstep).toBe(0);
    expect(measure(findings, "requests-lost").stock).toBeGreaterThan(10);
    expect(findings.measures.every(({ held }) => held)).toBe(true);
    // Where a node has died, its pods are shown late; in the flaps nothing is.
    expectExact(stages.accuracy.result(), { late: "pod" });
  });

  test.each([20_000, 60_000])(
    "a node that dies leaves Lockstep long before %i ms of grace are over",
    async (graceMs) => {
      const stages = new VirtualStages({ seed: 3, onOpened: withoutDistance });
      const dead = await stages.open((stage) => playDeadNode(stage, { ...writeUp, graceMs }));
      expectExact(stages.accuracy.result(), { changes: 2, late: "pod" });
      expect(dead.isSilent).toBe(true);
      expect(dead.unroutedMs.lockstep).toBeLessThan(dead.allowedMs);
      // Its last heartbeat was up to 10 s before.
      expect(dead.unroutedMs.stock).toBeGreaterThan(graceMs - 10_000);
      expect([dead.lost.lockstep, dead.lost.stock > 10]).toEqual([0, true]);
      // Half of the pods died. Each replica found each of them once, and never tried it again.
      const { deadTries, sentToDead, longestDeadMs } = dead.tallies.lockstep;
      const found = replicas * (shopReplicas / 2);
      expect([deadTries, sentToDead]).toEqual([found, dead.slowed.lockstep]);
      expect(longestDeadMs).toBeLessThan(dead.allowedMs);
    },
  );

  test("the fix ends the flaps and delays the notice of a dead node by as much", async () => {
    const { figures } = await playInVirtualTime(heartbeatFlap, { seed: 1, fix: true });
    const measured = (id: string) => figures.find((one) => one.id === id)?.measured ?? Number.NaN;
    expect(measured("flaps-per-heartbeat")).toBe(0);
    // Its last heartbeat was up to 10 s before its death, the look that finds it 5 s late at most.
    expect(measured("dead-node-noticed-before")).toBeGreaterThan(30_000);
    expect(measured("dead-node-noticed-before")).toBeLessThan(45_100);
    expect(measured("dead-node-noticed-later")).toBeCloseTo(20_000, -2);
  });
});

function measure({ measures }: IncidentFindings, id: string) {
  const found = measures.find((one) => one.id === id);
  if (found === undefined) throw new Error(`no measure ${id}`);
  return { stock: found.stock ?? Number.NaN, lockstep: found.lockstep ?? Number.NaN };
}
