// When items pass, in virtual time.
import { describe, expect, it } from "vitest";
import { simulate } from "../../simulation/simulation.ts";
import { DelayLine } from "./delay-line.ts";

type Passed = readonly (readonly [atMs: number, item: string])[];

/** Runs a line whose delay can be set, and says what passed when. */
function withLine(
  main: (line: DelayLine<string>, world: World) => Promise<void>,
  maxWaiting = 100,
): Promise<Passed> {
  return simulate({ seed: 1 }, async (simulation) => {
    const { clock, timers } = simulation.host("server");
    const passed: [number, string][] = [];
    const world: World = { delayMs: 0, sleep: (ms) => simulation.sleep(ms) };
    const line = new DelayLine<string>({
      clock,
      timers,
      delayMs: () => world.delayMs,
      deliver: (item) => passed.push([simulation.now(), item]),
      merge: (earlier, later) => (earlier[0] === "+" && later[0] === "+" ? later : undefined),
      maxWaiting,
    });
    await main(line, world);
    return passed;
  });
}

interface World {
  delayMs: number;
  sleep(ms: number): Promise<void>;
}

describe("DelayLine", () => {
  it("passes items straight through without a delay", async () => {
    const passed = await withLine(async (line) => {
      line.push("a");
      line.push("b");
    });
    expect(passed).toEqual([
      [0, "a"],
      [0, "b"],
    ]);
  });

  it("keeps the order when the delay is taken away, lengthened and shortened", async () => {
    const passed = await withLine(async (line, world) => {
      world.delayMs = 1000;
      line.push("a");
      await world.sleep(400);
      line.push("b");
      world.delayMs = 500;
      line.reconsider();
      await world.sleep(200);
      world.delayMs = 2000;
      line.reconsider();
      line.push("c");
      await world.sleep(1000);
      world.delayMs = 0;
      line.push("d");
      line.reconsider();
      line.push("e");
    });
    expect(passed).toEqual([
      [500, "a"],
      [1600, "b"],
      [1600, "c"],
      [1600, "d"],
      [1600, "e"],
    ]);
  });

  it("holds everything back while the delay is infinite", async () => {
    const passed = await withLine(async (line, world) => {
      world.delayMs = Number.POSITIVE_INFINITY;
      line.push("a");
      await world.sleep(72 * 3_600_000);
      world.delayMs = 0;
      line.reconsider();
    });
    expect(passed).toEqual([[72 * 3_600_000, "a"]]);
  });

  it("merges neighbours that came close together and lets them pass with the first", async () => {
    const passed = await withLine(async (line, world) => {
      world.delayMs = 1000;
      line.push("+1");
      await world.sleep(100);
      line.push("+2");
      line.push("a");
      line.push("+3");
      await world.sleep(101);
      line.push("+4");
      await world.sleep(2000);
    });
    expect(passed).toEqual([
      [1000, "+2"],
      [1100, "a"],
      [1100, "+3"],
      [1201, "+4"],
    ]);
  });

  it("lets the oldest pass early when too many wait", async () => {
    const passed = await withLine(async (line, world) => {
      world.delayMs = 1000;
      for (const item of ["a", "b", "c"]) line.push(item);
      await world.sleep(1000);
    }, 2);
    expect(passed).toEqual([
      [0, "a"],
      [1000, "b"],
      [1000, "c"],
    ]);
  });

  it("passes nothing more once stopped", async () => {
    const passed = await withLine(async (line, world) => {
      world.delayMs = 1000;
      line.push("a");
      line.stop();
      line.stop();
      line.push("b");
      await world.sleep(2000);
    });
    expect(passed).toEqual([]);
  });
});
