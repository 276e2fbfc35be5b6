// The machine's two clocks. The functions are taken at import: a simulation in the same process
// replaces the ambient ones, and the real clock must go on.
import type { Clock, MonotonicMs, WallMs } from "../clock.ts";

const readMonotonic = performance.now.bind(performance);
const readWall = Date.now;

export const nodeClock: Clock = {
  monotonicMs: () => readMonotonic() as MonotonicMs,
  wallMs: () => readWall() as WallMs,
};
