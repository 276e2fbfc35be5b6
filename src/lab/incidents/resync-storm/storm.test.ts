import { expect, test } from "vitest";
import { constraintOf, type Storm } from "./storm.ts";

const storm: Storm = {
  requests: 1_000,
  keys: 1_000,
  events: 0,
  firstMs: 0,
  lastMs: 50_000,
  meanServerMs: 1,
  atMs: 0,
  drainMs: 50_000,
  rate: 20,
  workMs: 250,
  busyWorkers: 5,
  throttledShare: 0.98,
};

test.each([
  ["nothing was written", { requests: 0 }, "none"],
  ["nearly every request waited for a token", {}, "limiter"],
  ["all workers wait for a server that is slower than ever", { meanServerMs: 240 }, "server"],
  ["all workers wait for a server that is as slow as ever", { meanServerMs: 9 }, "workers"],
  ["some workers had nothing to do", { busyWorkers: 4 }, "none"],
] as const)("when %s", (_, differing, constraint) => {
  const measured = { ...storm, ...(Object.keys(differing).length > 0 && { throttledShare: 0 }) };
  const facts = { workers: 5, quietServerMs: 8 };
  expect(constraintOf({ ...measured, ...differing }, facts)).toBe(constraint);
});
