import { describe, expect, it } from "vitest";
import { isThorough } from "../../simulation/seeds.ts";
import { Laboratory } from "./laboratory.ts";
import type { PublishingPrediction } from "./prediction.ts";
import type { Counts, Question, Settings } from "./question.ts";
import { defaultSettings } from "./run-flags.ts";
import { findSettings } from "./target.ts";

const laboratory = new Laboratory();

function question(counts: Partial<Counts>, settings: Partial<Settings>): Question {
  const services = counts.services ?? 200;
  return {
    counts: {
      services,
      headlessShare: 1,
      pods: services,
      nodes: 2,
      changesPerSecond: 0,
      writesPerSecond: undefined,
      writeLatencyMs: 3,
      ...counts,
    },
    settings: {
      version: "1.17.3",
      ...defaultSettings("1.17.3"),
      heartbeat: { by: "lease", minMs: 10_000, maxMs: 10_400 },
      ...settings,
    },
    seed: 1,
  };
}

/** How far a measured drain is from what it should be by hand, as a share. */
function off({ resync }: PublishingPrediction, expectedMs: number): number {
  return Math.abs((resync.drainMs ?? Number.POSITIVE_INFINITY) / expectedMs - 1);
}

it("drains a resync as fast as the limit allows, when the limit binds", async () => {
  const asked = question({ services: 100, headlessShare: 0.8 }, { qps: 10, burst: 15, workers: 3 });
  const prediction = await laboratory.publishing(asked);
  expect(prediction.published).toBe("Endpoints");
  expect(prediction.resync.requests).toBe(80);
  // (80 − 15) ÷ 10, and four timed changes that are requests of their own.
  expect(off(prediction, 6_500)).toBeLessThan(0.07);
  expect(prediction.constraint.name).toBe("limiter");
  // Measured on real servers: 4 to 6 ms.
  expect(prediction.waits.quiet?.p50Ms).toBeGreaterThan(4);
  expect(prediction.waits.quiet?.p50Ms).toBeLessThan(6);
  expect(prediction.waits.quiet?.maxMs).toBeLessThan(50);
  expect(prediction.waits.resync?.maxMs).toBeGreaterThan(4_000);
  expect(prediction.worstWaitMs).toBeLessThan(7_500);
  // 6.5 s each 12 to 24 h, which is a hundred-thousandth of the time.
  expect(prediction.waits.anyMoment?.p99Ms).toBeLessThan(50);
});

describe.runIf(isThorough(process.env))("with more time", () => {
  it("drains as fast as the server writes, when the server binds", async () => {
    const asked = question({ writesPerSecond: 20 }, { qps: 500, burst: 750, workers: 10 });
    const prediction = await laboratory.publishing(asked);
    // 200 ÷ 20; the heartbeats of two nodes take 0.2 of the 20.
    expect(off(prediction, 10_000)).toBeLessThan(0.06);
    expect(prediction.constraint.name).toBe("server");
  });

  it("drains as fast as workers get answers, when they are too few", async () => {
    const asked = question({ writeLatencyMs: 200 }, { qps: 500, burst: 750, workers: 2 });
    const prediction = await laboratory.publishing(asked);
    // 200 × 0.2 ÷ 2, and a little for the network.
    expect(off(prediction, 20_000)).toBeLessThan(0.06);
    expect(prediction.constraint.name).toBe("workers");
  });

  it("has nothing to drain where the bug is fixed", async () => {
    const prediction = await laboratory.publishing(question({}, { version: "1.17.13" }));
    expect(prediction.resync.requests).toBe(0);
    expect(prediction.resync.drainMs).toBeLessThan(1_000);
    expect(prediction.worstWaitMs).toBeLessThan(1_000);
    expect(prediction.constraint.name).toBe("none");
  });

  it("times EndpointSlices where a version has them, and the batch period as part of it", async () => {
    const prediction = await laboratory.publishing(
      question({ headlessShare: 0 }, { version: "1.33", batchMs: 2_000 }),
    );
    expect(prediction.published).toBe("EndpointSlices");
    expect(prediction.waits.quiet?.p50Ms).toBeGreaterThan(2_000);
    expect(prediction.waits.quiet?.maxMs).toBeLessThan(2_100);
  });

  it("never drains on 1.7 with more services than 30 s of its limit, and waits one round", async () => {
    const asked = question(
      { services: 100, headlessShare: 0 },
      { version: "1.7", qps: 2, burst: 3 },
    );
    const prediction = await laboratory.publishing(asked);
    expect(prediction.resync).toMatchObject({ drainMs: undefined, share: 1, periodMaxMs: 30_000 });
    // A key waits behind each of the others once, 100 ÷ 2, behind the five that have reserved their
    // tokens, and for its own GET and PUT.
    expect(prediction.waits.anyMoment?.maxMs).toBeGreaterThan(35_000);
    expect(prediction.waits.anyMoment?.maxMs).toBeLessThan(57_000);
    expect(prediction.waits.quiet).toBeUndefined();
    expect(prediction.constraint.name).toBe("limiter");
  });

  it("drains within each round on 1.7 with fewer", async () => {
    const asked = question(
      { services: 40, headlessShare: 0 },
      { version: "1.7", qps: 4, burst: 4 },
    );
    const prediction = await laboratory.publishing(asked);
    // (40 − 4) ÷ 4 of every 30 s.
    expect(off(prediction, 9_000)).toBeLessThan(0.1);
    expect(Math.abs(prediction.resync.share - 0.3)).toBeLessThan(0.04);
  });

  it("waits longer the more changes there are, until the limit is used up", async () => {
    const quiet = await laboratory.publishing(question({}, { version: "1.17.13" }));
    const busy = await laboratory.publishing(
      question({ changesPerSecond: 40 }, { version: "1.17.13" }),
    );
    expect(quiet.constraint.name).toBe("none");
    expect(busy.constraint.name).toBe("limiter");
    // Twice as many changes as the limit lets through: every key waits for nearly all others.
    expect(busy.waits.anyMoment?.p50Ms).toBeGreaterThan(2_000);
    expect(busy.waits.anyMoment?.maxMs).toBeLessThan(11_000);
  });

  it("says how fast the wait grows while the queue fills, and no wait as if it stayed", async () => {
    const prediction = await laboratory.publishing(
      question({ services: 800, changesPerSecond: 30 }, { version: "1.17.13", qps: 15 }),
    );
    // 30 ÷ 15 − 1 at first; four fifths of it while half of the services change.
    expect(prediction.waitGrowth).toBeGreaterThan(0.6);
    expect(prediction.waitGrowth).toBeLessThan(1.25);
    expect(prediction.worstWaitMs).toBeUndefined();
    expect(Object.values(prediction.waits)).toEqual([undefined, undefined, undefined, undefined]);
    expect(prediction.constraint.name).toBe("limiter");
  });

  it("finds settings that meet a target while the next cheaper ones do not", async () => {
    const asked = question({ services: 300 }, {});
    const { found, cheaper, tries } = await findSettings({
      laboratory,
      question: asked,
      targetMs: 3_000,
    });
    // (300 − 1.5 qps) ÷ qps is below 3 s from 67 a second on, and a restart does some keys twice:
    // of the rungs 63, 80 and 100 the first cannot and the last must.
    const qps = found?.settings.qps;
    expect([80, 100]).toContain(qps);
    // Five workers can do 5 ÷ 4 ms.
    expect(found).toMatchObject({ isMet: true, settings: { workers: 5, version: "1.17.3" } });
    expect(cheaper.map(({ settings, isMet }) => ({ qps: settings.qps, isMet }))).toEqual([
      { qps: qps === 80 ? 63 : 80, isMet: false },
    ]);
    expect(tries[0]).toMatchObject({ isMet: false, settings: { qps: 20, workers: 5 } });
    if (found === undefined) return;
    const again = await laboratory.publishing({ ...asked, settings: found.settings });
    expect(again.worstWaitMs).toBeLessThanOrEqual(3_000);
    expect(again.resync.drainMs).toBeLessThanOrEqual(3_000);
  });

  it("names the version that helps when no flags do", async () => {
    const asked = question({ writesPerSecond: 20 }, {});
    const { found, cheaper } = await findSettings({ laboratory, question: asked, targetMs: 3_000 });
    expect(found?.settings).toMatchObject({ qps: 20, workers: 5, version: "1.17.13" });
    expect(cheaper.map(({ prediction }) => prediction.constraint.name)).toEqual(["server"]);
  });

  it("says so when nothing helps", async () => {
    // Of twice as many changes as may be written no version makes less.
    const asked = question(
      { writesPerSecond: 50, changesPerSecond: 40 },
      { version: "1.36", workers: 1_000, qps: 5_000 },
    );
    const { found, tries } = await findSettings({ laboratory, question: asked, targetMs: 1_000 });
    expect(found).toBeUndefined();
    expect(tries.map(({ prediction }) => prediction.constraint.name)).toEqual(["server"]);
  });

  it("answers the same question the same way", async () => {
    const asked = question({ services: 50 }, {});
    const [one, other] = [await laboratory.publishing(asked), await laboratory.publishing(asked)];
    expect(one).toEqual(other);
  });
});
