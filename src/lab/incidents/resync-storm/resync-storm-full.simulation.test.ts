// The storm at the write-up's own size. Its cost is that of some 65,000 requests through every layer,
// about a minute of processor time; the raised limits, which double it, are tried at a smaller size.
import { expect, test } from "vitest";
import { isThorough } from "../../../simulation/seeds.ts";
import { expectExact, withoutDistance } from "../../observed/exact-observer.contract.ts";
import { isCompared, isWithinBounds } from "../figure.ts";
import { VirtualStages } from "../virtual-stage.ts";
import { playResyncStorm } from "./resync-storm.ts";
import { writeUpCluster } from "./resync-storm-options.ts";

test.runIf(isThorough(process.env))(
  "12,954 headless services: every figure is within its bounds, and every goal is reached",
  async () => {
    const stages = new VirtualStages({ seed: 1, onOpened: withoutDistance });
    const { figures, measures } = await playResyncStorm(stages.open, {
      fix: false,
      cluster: () => ({ ...writeUpCluster, raised: undefined }),
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
