import { expect, test } from "vitest";
import { counted } from "./counted.ts";

test("one thing is singular, others are plural", () => {
  expect([0, 1, 1200].map((count) => counted(count, "change"))).toEqual([
    "0 changes",
    "1 change",
    "1,200 changes",
  ]);
  expect([1, 2].map((count) => counted(count, "proxy", "proxies"))).toEqual([
    "1 proxy",
    "2 proxies",
  ]);
});
