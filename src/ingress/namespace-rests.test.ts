import { beforeEach, expect, it } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import { freeMs, NamespaceRests } from "./namespace-rests.ts";

let nowMs = 0;
let rests: NamespaceRests;

beforeEach(() => {
  nowMs = 1_000;
  rests = new NamespaceRests({ monotonicMs: () => nowMs as MonotonicMs });
});

it("does not rest after a decision that cost much for once", () => {
  rests.used("calm", 20);
  expect(rests.leftMs("calm")).toBe(0);
  nowMs += 1_000;
  rests.used("calm", 20);
  expect(rests.leftMs("calm")).toBe(0);
});

it("rests after decisions that cost much together, and then no longer", () => {
  rests.used("loud", freeMs);
  rests.used("loud", 20);
  expect(rests.leftMs("loud")).toBe(200);
  nowMs += 199.5;
  expect(rests.leftMs("loud")).toBe(1);
  nowMs += 0.5;
  expect(rests.leftMs("loud")).toBe(0);
  rests.used("loud", 20);
  expect(rests.leftMs("loud")).toBe(200);
});

it("has a tenth of the time, however many decisions it wants", () => {
  const beganMs = nowMs;
  let usedMs = 0;
  for (let count = 0; count < 1_000; count += 1) {
    nowMs += 30 + rests.leftMs("loud");
    rests.used("loud", 30);
    usedMs += 30;
  }
  expect(usedMs / (nowMs - beganMs)).toBeCloseTo(0.1, 2);
});

it("does not rest after cheap decisions, nor for another namespace", () => {
  for (let count = 0; count < 100; count += 1) rests.used("quick", 9);
  rests.used("loud", freeMs + 20);
  expect(rests.leftMs("quick")).toBe(0);
  expect(rests.leftMs("quiet")).toBe(0);
});

it("divides a decision about several namespaces by their parts", () => {
  const parts = new Map([
    ["loud", 850],
    ["quiet", 3],
    ["large", 147],
  ]);
  rests.usedTogether(parts, 1_000);
  expect(rests.leftMs("loud")).toBe(5_000);
  expect(rests.leftMs("large")).toBe(10 * (147 - freeMs));
  expect(rests.leftMs("quiet")).toBe(0);
});

it("rests for seconds at most, however much a decision cost", () => {
  rests.used("loud", 60_000);
  expect(rests.leftMs("loud")).toBe(5_000);
});
