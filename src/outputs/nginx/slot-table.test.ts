import { expect, it } from "vitest";
import { SlotTable, uncountedSlot } from "./slot-table.ts";

it("gives every endpoint a slot of its own, the same to all who ask", () => {
  const slots = new SlotTable();
  expect([slots.acquire("a"), slots.acquire("b"), slots.acquire("a")]).toEqual([1, 2, 1]);
});

it("keeps a slot until the last user gives it back", () => {
  const slots = new SlotTable({ slots: 2 });
  slots.acquire("a");
  slots.acquire("a");
  slots.release("a");
  expect([slots.endpointAt(1), slots.acquire("b")]).toEqual(["a", 0]);
  slots.release("a");
  expect([slots.endpointAt(1), slots.acquire("b")]).toEqual([undefined, 3]);
});

it("uses fresh rows first, then the one given back longest ago, under another number", () => {
  const slots = new SlotTable({ slots: 4 });
  for (const name of ["a", "b"]) slots.acquire(name);
  slots.release("b");
  slots.release("a");
  const acquire = (name: string) => slots.acquire(name, { namespace: name });
  expect(["c", "d", "e", "f"].map(acquire)).toEqual([3, 6, 5, 0]);
  expect([2, 6].map((slot) => slots.endpointAt(slot))).toEqual([undefined, "d"]);
  slots.release("d");
  expect(acquire("g")).toBe(10);
});

it("lets endpoints beyond the last slot share the uncounted one", () => {
  const slots = new SlotTable({ slots: 2 });
  expect(["a", "b", "c"].map((name) => slots.acquire(name))).toEqual([1, 0, 0]);
  slots.release("b");
  expect(slots.acquire("d")).toBe(0);
});

it("one namespace never has the last one: there is one for each that comes after it", () => {
  const slots = new SlotTable({ slots: 1_001 });
  const flood = Array.from({ length: 5_000 }, (_, n) => slots.acquire(`a${n}`, { namespace: "a" }));
  expect(flood.filter((slot) => slot !== uncountedSlot)).toHaveLength(500);
  const more = Array.from({ length: 5_000 }, (_, n) => slots.acquire(`b${n}`, { namespace: "b" }));
  expect(more.filter((slot) => slot !== uncountedSlot)).toHaveLength(250);
  for (let n = 0; n < 100; n += 1) {
    expect(slots.acquire(`quiet-${n}`, { namespace: `quiet-${n}` })).not.toBe(uncountedSlot);
  }
  for (let n = 0; n < 5_000; n += 1) slots.release(`a${n}`);
  expect(slots.acquire("b5000", { namespace: "b" })).not.toBe(uncountedSlot);
});
