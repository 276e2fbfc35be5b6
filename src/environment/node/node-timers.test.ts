// The contract over the real thing, and what only the real thing can show.
import { describe, expect, it } from "vitest";
import { timersContract } from "../timers.contract.ts";
import { nodeClock } from "./node-clock.ts";
import { nodeTimers } from "./node-timers.ts";

describe("real timers", () => {
  timersContract((test) => test({ clock: nodeClock, timers: nodeTimers }));

  it("work on while the ambient timers and clocks are replaced", async () => {
    const ambient = { setTimeout, clearTimeout, setImmediate, now: Date.now };
    const refuse = (): never => {
      throw new Error("ambient time was used");
    };
    Object.assign(globalThis, { setTimeout: refuse, clearTimeout: refuse, setImmediate: refuse });
    Date.now = refuse;
    try {
      const before = nodeClock.wallMs();
      nodeTimers.after(1000, refuse)();
      await nodeTimers.breathe();
      await nodeTimers.sleep(2);
      expect(nodeClock.wallMs()).toBeGreaterThanOrEqual(before);
    } finally {
      const { now, ...timers } = ambient;
      Object.assign(globalThis, timers);
      Date.now = now;
    }
  });
});
