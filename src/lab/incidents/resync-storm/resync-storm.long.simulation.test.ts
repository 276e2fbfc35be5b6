// The incident at other sizes than the write-up's, against what can be computed by hand, so that only
// the mechanism itself can give the right answers.
import { describe, expect, test } from "vitest";
import { expectExact, withoutDistance } from "../../../../tests/observer/exact-observer.ts";
import { isThorough } from "../../../simulation/seeds.ts";
import type { ObserverAccuracy } from "../../observed/observer-accuracy.ts";
import type { IncidentFindings } from "../incident.ts";
import { VirtualStages } from "../virtual-stage.ts";
import { playResyncStorm } from "./play.ts";
import type { ResyncStormSettings } from "./settings.ts";

const minuteMs = 60_000;

/** A storm of 12 s: (70 − 10) ÷ 5. */
const tiny: ResyncStormSettings = {
  services: 80,
  headless: 70,
  limits: { workers: 2, qps: 5, burst: 10 },
  minResyncMs: minuteMs,
  resyncFactor: 1.25,
  raised: undefined,
};

const medium: ResyncStormSettings = {
  services: 500,
  headless: 400,
  limits: { workers: 3, qps: 10, burst: 15 },
  minResyncMs: 20 * minuteMs,
  resyncFactor: 1.5,
  raised: { workers: 10, qps: 50, burst: 60, writesPerSecond: 20, minResyncMs: 2 * minuteMs },
};

interface Played {
  readonly findings: IncidentFindings;
  readonly traceHash: string;
  readonly observer: ObserverAccuracy;
}

async function played(cluster: ResyncStormSettings, fix = false, seed = 1): Promise<Played> {
  const stages = new VirtualStages({ seed, onOpened: withoutDistance });
  const findings = await playResyncStorm(stages.open, { fix, settings: () => cluster });
  return { findings, traceHash: stages.traceHash(), observer: stages.accuracy.result() };
}

function figure({ figures }: IncidentFindings, id: string): number {
  return figures.find((one) => one.id === id)?.measured ?? Number.NaN;
}

/** Which constraint the play says has bound. */
function binding({ figures }: IncidentFindings, id: string): string | undefined {
  return figures
    .find((one) => one.id === id)
    ?.text.split(", ")
    .at(-1);
}

/** When the play says that something happened. */
function timeOf({ timeline }: IncidentFindings, text: string): number {
  return timeline.find((entry) => entry.text === text)?.atMs ?? Number.NaN;
}

function measure({ measures }: IncidentFindings, id: string) {
  const { stock, lockstep, held } = measures.find((one) => one.id === id) ?? {};
  return { stock: stock ?? Number.NaN, lockstep: lockstep ?? Number.NaN, held };
}

/** Within so many hundredths. */
function expectAbout(value: number, expected: number, percent: number): void {
  const differencePercent = (100 * Math.abs(value - expected)) / expected;
  expect(differencePercent, `${value} is not about ${expected}`).toBeLessThanOrEqual(percent);
}

describe("a small cluster", () => {
  test("a resync writes every headless service once, at the pace of the limiter", async () => {
    const { findings, observer } = await played(tiny);
    expectExact(observer, { changes: 24, late: "published" });
    expect(figure(findings, "puts-per-resync")).toBe(70);
    expect(figure(findings, "puts-per-headless-service")).toBe(1);
    expect(figure(findings, "headless-services-written")).toBe(1);
    expectAbout(figure(findings, "drain"), 12_000, 2);
    expect(binding(findings, "drain")).toBe("bottleneck: limiter");
    expectAbout(figure(findings, "period"), 1.25 * minuteMs, 1);
  });
});

/** Played once and read by several tests. */
let storms: Promise<Played> | undefined;

function mediumStorms(): Promise<Played> {
  storms ??= played(medium);
  return storms;
}

describe.runIf(isThorough(process.env))("500 services, 400 of them headless", () => {
  test("limits, capacity and period are what the arithmetic says", async () => {
    const { findings } = await mediumStorms();
    expect(figure(findings, "puts-per-resync")).toBe(400);
    expectAbout(figure(findings, "drain"), (1000 * (400 - 15)) / 10, 1);
    expect(binding(findings, "drain")).toBe("bottleneck: limiter");
    expectAbout(figure(findings, "period"), 30 * minuteMs, 0.1);
    expect(figure(findings, "throttled-share")).toBeGreaterThan(0.9);
    expectAbout(figure(findings, "drain-raised"), (1000 * (400 - 60)) / 50, 2);
    expect(binding(findings, "drain-raised")).toBe("bottleneck: limiter");
    expectAbout(figure(findings, "drain-raised-bounded"), (1000 * 400) / 20, 3);
    expect(binding(findings, "drain-raised-bounded")).toBe("bottleneck: server");
    expect(figure(findings, "throttled-share-bounded")).toBe(0);
  });

  test("only the first resync after a start can be seen by a watcher", async () => {
    const { findings } = await mediumStorms();
    expectAbout(figure(findings, "events-first-resync"), 400, 2);
    expect(figure(findings, "events-later-resync")).toBe(0);
  });

  test("stock routes to dead pods while the storm lasts, and Lockstep does not", async () => {
    const { findings, observer } = await mediumStorms();
    expectExact(observer, { changes: 24, late: "published" });
    const quiet = figure(findings, "published-lag-quiet");
    const during = figure(findings, "published-lag-storm");
    expect(quiet).toBeLessThan(100);
    // The first release waits for its key's turn, wherever that is in the resync; the key of the
    // second is behind all that are left: the change waits for the rest.
    const endsAt = timeOf(findings, "the second resync") + 38_500;
    const leftAt = (which: string) =>
      endsAt - timeOf(findings, `the ${which} release in the storm`);
    expect(during).toBeGreaterThan(0.9 * leftAt("second"));
    expect(during).toBeLessThan(1.1 * leftAt("first"));
    // Of so few keys, those under way and how the others are spread count for much.
    expectAbout(figure(findings, "wait-by-keys-ahead"), 1, 20);
    expect(measure(findings, "longest-leave-lag-at-routed").held).toBe(true);
    expect(measure(findings, "longest-join-lag-at-routed").held).toBe(true);
    const lost = measure(findings, "requests-lost");
    expect(lost.stock).toBeGreaterThan(0);
    expect(lost.lockstep).toBe(0);
  });

  test("with the fix nothing is written, and a change in a resync does not wait", async () => {
    const { findings, observer } = await played(medium, true);
    expectExact(observer, { late: null });
    expect(figure(findings, "puts-per-resync")).toBe(0);
    expect(figure(findings, "published-lag-storm")).toBeLessThan(100);
  });

  test("without headless services the same version writes nothing", async () => {
    const { findings } = await played({ ...medium, headless: 0, raised: undefined });
    expect(figure(findings, "puts-per-resync")).toBe(0);
  });

  test("unless it is given, the process draws how long its period is", async () => {
    const { resyncFactor: _, ...drawn } = tiny;
    const factors = [];
    for (const seed of [1, 2, 3]) {
      factors.push(figure((await played(drawn, false, seed)).findings, "period-factor"));
    }
    expect(Math.min(...factors)).toBeGreaterThanOrEqual(1);
    expect(Math.max(...factors)).toBeLessThan(2.02);
    expect(Math.max(...factors) - Math.min(...factors)).toBeGreaterThan(0.05);
  });

  test("the same seed gives the same run, and another seed another", async () => {
    const [first, same, other] = [
      await played(tiny),
      await played(tiny),
      await played(tiny, false, 2),
    ];
    expect(same).toEqual(first);
    expect(other.traceHash).not.toBe(first.traceHash);
  });
});
