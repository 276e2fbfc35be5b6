import { expect, test } from "vitest";
import type { MonotonicMs } from "../../environment/clock.ts";
import { sayAgainMs, UndoneWrites, undoneTimes, undoneWithinMs } from "./undone-writes.ts";

/** The repairs in a row until the first report, or undefined without one. */
function timesUntilSaid(undone: UndoneWrites, startMs: number, stepMs: number): number | undefined {
  for (let times = 1; times <= 3 * undoneTimes; times += 1) {
    if (undone.putRight("shop/web", (startMs + times * stepMs) as MonotonicMs)) return times;
  }
  return undefined;
}

test("writes that are undone often within a short time are reported, and again while this goes on", () => {
  const undone = new UndoneWrites();
  expect(timesUntilSaid(undone, 0, 1)).toBe(undoneTimes);
  expect(timesUntilSaid(undone, 100, 1)).toBeUndefined();
  expect(timesUntilSaid(undone, 2 * sayAgainMs, 1)).toBe(undoneTimes);
});

test("what is undone now and then is not", () => {
  expect(timesUntilSaid(new UndoneWrites(), 0, undoneWithinMs)).toBeUndefined();
});

test("a new offer is no sign of another writer, and each service is counted by itself", () => {
  const undone = new UndoneWrites();
  for (let times = 0; times < 3 * undoneTimes; times += 1) {
    expect(undone.putRight(`shop/web-${times}`, times as MonotonicMs)).toBe(false);
    expect(undone.putRight("shop/web", times as MonotonicMs)).toBe(false);
    undone.news("shop/web");
  }
});
