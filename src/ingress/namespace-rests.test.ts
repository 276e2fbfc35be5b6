import { beforeEach, expect, it } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import { NamespaceRests } from "./namespace-rests.ts";

let nowMs = 0;
let rests: NamespaceRests;

beforeEach(() => {
  nowMs = 1_000;
  rests = new NamespaceRests({ monotonicMs: () => nowMs as MonotonicMs });
});

it("rests nine times as long as a decision took, and then no longer", () => {
  rests.took("loud", 20);
  expect(rests.leftMs("loud")).toBe(180);
  nowMs += 179.5;
  expect(rests.leftMs("loud")).toBe(1);
  nowMs += 0.5;
  expect(rests.leftMs("loud")).toBe(0);
});

it("does not rest after a short decision, nor for another namespace", () => {
  rests.took("quick", 9);
  rests.took("loud", 20);
  expect(rests.leftMs("quick")).toBe(0);
  expect(rests.leftMs("quiet")).toBe(0);
});

it("divides a decision about several namespaces by their parts", () => {
  rests.tookTogether(
    new Map([
      ["loud", 900],
      ["quiet", 3],
      ["large", 97],
    ]),
    1_000,
  );
  expect(rests.leftMs("loud")).toBe(5_000);
  expect(rests.leftMs("large")).toBe(873);
  expect(rests.leftMs("quiet")).toBe(0);
});

it("rests for seconds at most, however long a decision took", () => {
  rests.took("loud", 60_000);
  expect(rests.leftMs("loud")).toBe(5_000);
});
