// The storm at the write-up's own size, which costs some 40 s of processor time: 40,000 requests pass
// every layer. The hours between two storms show nothing more, so the period is shorter here; the
// raised limits are tried at a smaller size.
import { expect, test } from "vitest";
import { expectExact, withoutDistance } from "../../../../tests/observer/exact-observer.ts";
import { isThorough } from "../../../simulation/seeds.ts";
import { isCompared, isWithinBounds } from "../figure.ts";
import { VirtualStages } from "../virtual-stage.ts";
import { playResyncStorm } from "./play.ts";
import { writeUpSettings } from "./settings.ts";

test.runIf(isThorough(process.env))(
  "12,954 headless services: every figure is within its bounds, and every goal is reached",
  async () => {
    // With this seed the second release comes while most of the storm is ahead.
    const stages = new VirtualStages({ seed: 2, onOpened: withoutDistance });
    const { figures, measures } = await playResyncStorm(stages.open, {
      fix: false,
      settings: () => ({ ...writeUpSettings, minResyncMs: 30 * 60_000, raised: undefined }),
    });
    expectExact(stages.accuracy.result(), { changes: 24, late: "published" });
    expect(figures.filter(isCompared).map(({ id }) => id)).toEqual([
      "puts-per-headless-service",
      "headless-services-written",
      "events-first-resync",
      "events-later-resync",
      "drain",
      "mean-work",
      "throttled-share",
      "published-lag-quiet",
      "published-lag-storm",
      "wait-by-keys-ahead",
    ]);
    expect(figures.filter((one) => !isWithinBounds(one))).toEqual([]);
    expect(figures.find(({ id }) => id === "puts-per-resync")?.measured).toBe(12_954);
    expect(measures.filter(({ held }) => !held)).toEqual([]);
  },
);
