import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { decodedBytes, storedBytes, usualCapacity } from "./proxy-memory.ts";

const read = (path: string) =>
  readFileSync(new URL(`../../../proxy/${path}`, import.meta.url), "utf8");
const mib = 1024 * 1024;

test.each([
  ["lockstep_state", usualCapacity.routes],
  ["lockstep_certificates", usualCapacity.certificates],
])("%s holds its capacity twice, beside the reserve", (name, capacity) => {
  const [, size] = new RegExp(`lua_shared_dict ${name} (\\d+)m`).exec(read("nginx.conf")) ?? [];
  const [, reserve] = /RESERVE_BYTES = (\d+) \* 1024/.exec(read("lua/lockstep/writer.lua")) ?? [];
  expect(2 * capacity + Number(reserve) * mib).toBeLessThanOrEqual(Number(size) * mib);
});

test("an entry takes what the allocator gives away for it", () => {
  expect(storedBytes("a", "x")).toBe(128);
  expect(storedBytes("a", "x".repeat(100))).toBe(256);
  expect(storedBytes("a", "x".repeat(2_000))).toBe(4_096);
  expect(storedBytes("a", "x".repeat(5_000))).toBe(8_192);
});

test("an expression counts by what it compiles to", () => {
  const rule = (path: string) => decodedBytes([{ path, type: "Regex", service: "s" }]);
  expect(rule("/api(/|$)(.*)")).toBeLessThan(2_000);
  expect(rule("/[a-z]{500}")).toBeGreaterThan(30_000);
});
