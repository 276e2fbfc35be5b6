import { expect, test } from "vitest";
import { run } from "../../../../tests/cli/watched-changes.ts";
import type { MonotonicMs, WallMs } from "../../../environment/clock.ts";
import { wallAt } from "../../../timeline/journey-record.ts";
import { RunClock } from "./run-clock.ts";

const hourMs = 3_600_000;

function world() {
  const time = { passedMs: 0, setByMs: 0 };
  const warnings: unknown[] = [];
  const told = new RunClock({
    run,
    clock: {
      wallMs: () => (run.wallMs + time.passedMs + time.setByMs) as WallMs,
      monotonicMs: () => (run.monotonicMs + time.passedMs) as MonotonicMs,
    },
    log: { warn: (_, fields) => warnings.push(fields?.["byMs"]) },
  });
  /** The clock's time of an instant this long after the start, counted from there. */
  const tells = (ms: number) => wallAt((run.monotonicMs + ms) as MonotonicMs, told) - run.wallMs;
  return { time, told, tells, warnings };
}

test("instants do not move while the clocks go alike", () => {
  const { time, told, tells, warnings } = world();
  Object.assign(time, { passedMs: 5_000.25, setByMs: 999 });
  told.follow();
  expect([tells(1_000), tells(5_000)]).toEqual([1_000, 5_000]);
  expect(warnings).toEqual([]);
});

test.each([8 * hourMs, -hourMs])("a clock that is set by %i ms is followed, once", (setByMs) => {
  const { time, told, tells, warnings } = world();
  Object.assign(time, { passedMs: 5_000, setByMs });
  told.follow();
  time.passedMs = 9_000;
  told.follow();
  expect(tells(9_000)).toBe(9_000 + setByMs);
  expect(told.name).toBe(run.name);
  expect(warnings).toEqual([setByMs]);
});
