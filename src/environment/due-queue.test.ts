import fc from "fast-check";
import { expect, test } from "vitest";
import { BrokenInvariantError } from "./assert.ts";
import { type Due, DueQueue } from "./due-queue.ts";

interface Item extends Due {
  readonly name: number;
}

test("items come by time, then by when they were put in, however they were moved and taken out", () => {
  const steps = fc.array(
    fc.record({ item: fc.nat(40), dueAt: fc.nat(20), isTaken: fc.boolean() }),
    { maxLength: 200, size: "max" },
  );
  fc.assert(
    fc.property(steps, fc.nat(20), (story, now) => {
      const queue = new DueQueue<Item>();
      const items = Array.from({ length: 41 }, (_, name) => ({ name, dueAt: 0, place: -1 }));
      // A Map keeps the order in which its keys came, and an update does not change it.
      const expected = new Map<number, number>();
      for (const { item, dueAt, isTaken } of story) {
        const one = items[item];
        if (one === undefined) continue;
        if (isTaken) queue.delete(one);
        else queue.set(one, dueAt);
        if (isTaken) expected.delete(item);
        else expected.set(item, dueAt);
      }
      expect(queue.size).toBe(expected.size);
      const found: number[] = [];
      for (let one = queue.firstDue(now); one !== undefined; one = queue.firstDue(now)) {
        expect(queue.first).toBe(one);
        found.push(one.name);
        queue.delete(one);
      }
      const due = [...expected].filter(([, dueAt]) => dueAt <= now).sort(([, a], [, b]) => a - b);
      expect(found).toEqual(due.map(([name]) => name));
      expect(queue.size).toBe(expected.size - due.length);
    }),
  );
});

test("what was cleared away can be put in again", () => {
  const queue = new DueQueue<Due>();
  const item = { dueAt: 0, place: -1 };
  queue.set(item, 5);
  queue.clear();
  expect(queue.first).toBeUndefined();
  queue.set(item, 5);
  expect(queue.first).toBe(item);
});

test("a time or a place that others than the queue write is noticed", () => {
  const spoils: ((item: Item) => void)[] = [
    (item) => {
      item.dueAt = 100;
    },
    (item) => {
      item.place = 2;
    },
  ];
  for (const spoil of spoils) {
    const queue = new DueQueue<Item>();
    const items = [1, 2, 3].map((name) => ({ name, dueAt: 0, place: -1 }));
    for (const item of items) queue.set(item, item.name);
    spoil(items[1] ?? { name: 0, dueAt: 0, place: -1 });
    const next = { name: 4, dueAt: 0, place: -1 };
    expect(() => queue.set(next, 4)).toThrow(BrokenInvariantError);
  }
});
