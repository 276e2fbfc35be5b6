import { describe, expect, it } from "vitest";
import { isThorough } from "../../simulation/seeds.ts";
import { predictNodes } from "./node-run.ts";
import type { Question, Settings } from "./question.ts";
import { defaultSettings } from "./run-flags.ts";

function question(settings: Partial<Settings>): Question {
  return {
    counts: {
      services: 10,
      headlessShare: 0,
      pods: 10,
      nodes: 3,
      changesPerSecond: 0,
      writesPerSecond: undefined,
      writeLatencyMs: 3,
    },
    settings: {
      version: "1.7",
      ...defaultSettings("1.7"),
      heartbeat: { by: "status", minMs: 20_000, maxMs: 50_000 },
      ...settings,
    },
    seed: 1,
  };
}

describe.runIf(isThorough(process.env))("nodes whose kubelets report every 20 to 50 s", () => {
  it("are given up a quarter of the times at a grace of 40 s", async () => {
    const nodes = await predictNodes({ question: question({}) });
    // One gap in 35 s; it is noticed at a look each 5 s, so from 40 to 45 s on: of 30 s, 7.5 s.
    const expected = (3_600 / 35) * 0.25;
    expect(Math.abs(nodes.flapsPerHour / expected - 1)).toBeLessThan(0.15);
    // Away until the kubelet's next look at its pods, each 10 s.
    expect(nodes.outages?.maxMs).toBeLessThan(10_500);
    // A dead one had been silent for up to 50 s, and is looked at each 5 s.
    expect(nodes.noticed?.maxMs).toBeLessThan(46_000);
  });

  it("are never given up at a grace of 60 s, at which a dead one is noticed later", async () => {
    const nodes = await predictNodes({ question: question({ graceMs: 60_000 }) });
    expect(nodes.flapsPerHour).toBe(0);
    expect(nodes.noticed?.maxMs).toBeGreaterThan(46_000);
    expect(nodes.noticed?.maxMs).toBeLessThan(66_000);
    expect(nodes.noticed?.count).toBe(12);
  });

  it.each(["1.7", "1.9"] as const)(
    "%s: the pods of every dead node leave the endpoints after the node was noticed",
    async (version) => {
      // Timely, so that no node is already given up when it dies.
      const heartbeat = { by: "status", minMs: 10_000, maxMs: 10_400 } as const;
      const { noticed, left } = await predictNodes({ question: question({ version, heartbeat }) });
      expect([noticed?.count, left?.count]).toEqual([12, 12]);
      expect(left?.p50Ms).toBeGreaterThanOrEqual(noticed?.p50Ms ?? Number.NaN);
      expect(left?.maxMs).toBeGreaterThanOrEqual(noticed?.maxMs ?? Number.NaN);
    },
  );

  it("are never given up while their Leases are timely", async () => {
    const nodes = await predictNodes({ question: question({ version: "1.17.3" }) });
    expect(nodes.flapsPerHour).toBe(0);
  });
});
