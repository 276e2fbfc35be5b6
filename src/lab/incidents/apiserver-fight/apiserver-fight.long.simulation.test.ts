import { describe, expect, test } from "vitest";
import { expectExact, withoutDistance } from "../../../../tests/observer/exact-observer.ts";
import { forEachSeed, isThorough } from "../../../simulation/seeds.ts";
import type { ObserverAccuracy } from "../../observed/observer-accuracy.ts";
import { isCompared, isWithinBounds } from "../figure.ts";
import { longestLagMs } from "../shop-observer.ts";
import { playInVirtualTime, VirtualStages } from "../virtual-stage.ts";
import { changesPerMinute, lateness } from "./figures.ts";
import { apiserverFight, type FightRun, playApiserverFight, playFight } from "./play.ts";
import type { FightSettings } from "./settings.ts";

/** Lockstep receives a pod event, decides and pushes: some messages of a millisecond each. */
const aMomentMs = 20;

/** `--sync-rate-limit 0.3` and the workers' poll of the stock model, and messages. */
const stockIngressMs = 1_000 / 0.3 + 1_000 + aMomentMs;

/** A kernel of little patience, so that a run takes a minute and not half an hour. */
const short: FightSettings = {
  servers: 3,
  profile: "1.9",
  mechanism: "cut-off",
  silence: { minMs: 15_000, maxMs: 30_000 },
  releases: 1,
  pauseMs: 1_000,
};

interface ObservedFight extends FightRun {
  readonly observer: ObserverAccuracy;
}

async function run(seed: number, settings: Partial<FightSettings> = {}): Promise<ObservedFight> {
  const stages = new VirtualStages({ seed, onOpened: withoutDistance });
  const fight = await stages.open((stage) => playFight(stage, { ...short, ...settings }));
  return { ...fight, observer: stages.accuracy.result() };
}

function lockstepLagMs({ journeys }: FightRun): number {
  const lag = (direction: "join" | "leave") =>
    longestLagMs(journeys, { direction, hop: "routed", witnesses: "lockstep-" }) ?? Infinity;
  return Math.max(lag("join"), lag("leave"));
}

forEachSeed(
  "replicas with cut-off connections receive a release as late as the kernel allows",
  { seeds: 1 },
  async (seed) => {
    const fight = await run(seed);
    const { longestMs = 0, spreadMs = 0 } = lateness(fight.journeys);
    // At the latest: silent since just before the release, then a backoff of up to 1.6 s.
    expect(longestMs).toBeLessThan(30_000 + 1_600 + stockIngressMs);
    expect(longestMs).toBeGreaterThan(5_000);
    expect(spreadMs).toBeGreaterThan(1_000);
    expect(lockstepLagMs(fight)).toBeLessThan(aMomentMs);
    expect(fight.tallies.lockstep).toMatchObject({ lost: 0, sentToDead: 0 });
    expectExact(fight.observer, { changes: 8, late: "routed" });
  },
);

describe.runIf(isThorough(process.env))("at length", () => {
  test.each([
    { servers: 2, expected: 12 },
    { servers: 3, expected: 18 },
    { servers: 5, expected: 30 },
  ])("$servers servers change the list $expected times in 60 s", async ({ servers, expected }) => {
    const fight = await run(1, { servers, pauseMs: 60_000 });
    expect(changesPerMinute(fight)).toBe(expected);
    expect(lockstepLagMs(fight)).toBeLessThan(aMomentMs);
  });

  test("a patient kernel makes replicas later in proportion", async () => {
    const silence = { minMs: 200_000, maxMs: 400_000 };
    const { longestMs = 0 } = lateness((await run(2, { silence, pauseMs: 20_000 })).journeys);
    expect(longestMs).toBeGreaterThan(200_000 - 31_000 - aMomentMs);
    expect(longestMs).toBeLessThan(400_000 + 1_600 + stockIngressMs);
  });

  test("behind a cache that stops, replicas wait for the end of their watch", async () => {
    const fight = await run(2, { mechanism: "lagging-cache", pauseMs: 150_000 });
    const { longestMs = 0, spreadMs = 0 } = lateness(fight.journeys);
    // The server ends a watch 300 to 600 s after its beginning, which was some 165 s before.
    expect(longestMs).toBeGreaterThan(300_000 - 166_000);
    expect(spreadMs).toBeGreaterThan(1_000);
    expect(lockstepLagMs(fight)).toBeLessThan(aMomentMs);
    expect(fight.tallies.lockstep).toMatchObject({ lost: 0, sentToDead: 0 });
    expectExact(fight.observer, { changes: 8, late: "routed" });
  });

  test.each([
    { name: "one server", settings: { servers: 1 } },
    { name: "the right count", settings: { servers: 4, apiserverCount: 4 } },
    { name: "a count that is too high", settings: { servers: 2, apiserverCount: 7 } },
    { name: "leases", settings: { servers: 4, reconcilerType: "lease" } },
    { name: "the defaults of 1.33", settings: { servers: 4, profile: "1.33" } },
  ] as const)("with $name replicas are together", async ({ settings }) => {
    const fight = await run(1, { ...settings, pauseMs: 60_000 });
    expect(changesPerMinute(fight)).toBe(0);
    const { longestMs, spreadMs } = lateness(fight.journeys);
    expect(longestMs).toBeLessThan(stockIngressMs);
    expect(spreadMs).toBeLessThan(1_000);
    expectExact(fight.observer, { changes: 8, late: null });
  });

  // The lags come from draws, so one seed could be luck.
  forEachSeed(
    "every compared figure is within its bounds, whatever is drawn",
    { seeds: 0.6 },
    async (seed) => {
      const result = await playInVirtualTime(apiserverFight, { seed, onOpened: withoutDistance });
      expectExact(result.observer, { late: "routed" });
      expect(result.figures.filter((figure) => !isWithinBounds(figure))).toEqual([]);
      expect(result.figures.filter(isCompared).map(({ id }) => id)).toEqual([
        "addresses-listed-fewest",
        "addresses-listed-most",
        "owner-changes-per-60-s",
        "owners-in-turn",
        "reset-lines-per-60-s",
        "reset-line-spacing",
        "longest-lag-cut-off",
        "lag-spread-cut-off",
      ]);
      const measured = (id: string) => result.figures.find((one) => one.id === id)?.measured;
      expect(measured("longest-lag-lagging-cache")).toBeGreaterThan(60_000);
      expect(measured("lag-spread-lagging-cache")).toBeGreaterThan(1_000);
      expect(result.measures.filter(({ held }) => !held)).toEqual([]);
    },
  );

  test("shows with the fix that replicas are together, and repeats from its seed", async () => {
    const settings = { pauseMs: 60_000, releases: 1 };
    const incident = {
      ...apiserverFight,
      play: (open: Parameters<typeof playApiserverFight>[0]) =>
        playApiserverFight(open, { fix: true, settings }),
    };
    const result = await playInVirtualTime(incident, { seed: 2, fix: true });
    expect(result.figures.filter((figure) => !isWithinBounds(figure))).toEqual([]);
    const again = await playInVirtualTime(incident, { seed: 2, fix: true });
    expect(again.traceHash).toBe(result.traceHash);
  });
});
