import { expect, test } from "vitest";
import { age, ago, duration, figure } from "./format.ts";

test.each([
  [null, "–"],
  [0, "0 ms"],
  [9.44, "9.44 ms"],
  [29_460, "29.5 s"],
  [646_000, "10 min 46 s"],
])("a duration of %s ms reads %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test("an age has whole seconds from ten on, and tenths below", () => {
  expect([age(9_870), age(24_870), age(84_870)]).toEqual(["9.8 s", "24 s", "1 min 24 s"]);
});

test("a time in the future of this machine's clock is now", () => {
  expect([ago(5_000, 1_000), ago(0, 999), ago(0, 5_300), ago(0, 150_000)]).toEqual([
    "just now",
    "just now",
    "5 s ago",
    "2 min ago",
  ]);
});

test("figures have units", () => {
  expect([figure(1234.5, "count"), figure(19.96, "per second"), figure(0.1234, "share")]).toEqual([
    "1,230",
    "20/s",
    "12.3 %",
  ]);
});
