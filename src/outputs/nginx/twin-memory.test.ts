import { expect, test } from "vitest";
import { TwinMemory } from "./twin-memory.ts";

const capacityBytes = 64 * 4_096;
const reserveBytes = capacityBytes / 16;
const page = "x".repeat(4_000);

/** How many keys of a page each it takes. */
function fill(memory: TwinMemory): number {
  let count = 0;
  while (memory.put(`key-${count}`, page)) count += 1;
  return count;
}

test("a full memory takes no new key and keeps a reserve for those it has", () => {
  const memory = new TwinMemory(capacityBytes);
  const count = fill(memory);
  expect(memory.freeBytes).toBeLessThan(reserveBytes);
  expect(memory.freeBytes).toBeGreaterThanOrEqual(reserveBytes / 2);
  expect(memory.put("key-0", "shorter")).toBe(true);
  memory.delete("key-1");
  memory.delete("key-2");
  expect(memory.put(`key-${count}`, page)).toBe(true);
});

test("a value that is larger than what is free is refused, and the key keeps what it had", () => {
  const memory = new TwinMemory(capacityBytes);
  expect(memory.put("key", page)).toBe(true);
  const { freeBytes } = memory;
  expect(memory.put("key", "x".repeat(capacityBytes))).toBe(false);
  expect(memory.freeBytes).toBe(freeBytes);
});
