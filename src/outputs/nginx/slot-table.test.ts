import { expect, it } from "vitest";
import { SlotTable } from "./slot-table.ts";

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
  expect([slots.endpointAt(1), slots.acquire("b")]).toEqual([undefined, 1]);
});

it("uses fresh slots first, then the one that was given back longest ago", () => {
  const slots = new SlotTable({ slots: 4 });
  for (const name of ["a", "b"]) slots.acquire(name);
  slots.release("b");
  slots.release("a");
  expect(["c", "d", "e", "f"].map((name) => slots.acquire(name))).toEqual([3, 2, 1, 0]);
});

it("lets endpoints beyond the last slot share the uncounted one", () => {
  const slots = new SlotTable({ slots: 2 });
  expect(["a", "b", "c"].map((name) => slots.acquire(name))).toEqual([1, 0, 0]);
  slots.release("b");
  expect(slots.acquire("d")).toBe(0);
});
