import fc from "fast-check";
import { expect, test } from "vitest";
import { type Due, DueQueue } from "./due-queue.ts";

test("what is due comes in order, each once, however items were put in, moved and taken out", () => {
  const steps = fc.array(fc.record({ item: fc.nat(9), dueAt: fc.nat(50), isTaken: fc.boolean() }), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(steps, fc.nat(50), (story, now) => {
      const queue = new DueQueue();
      const items: Due[] = Array.from({ length: 10 }, () => ({ dueAt: 0, place: -1 }));
      const expected = new Map<Due, number>();
      for (const { item, dueAt, isTaken } of story) {
        const one = items[item];
        if (one === undefined) continue;
        if (isTaken) queue.delete(one);
        else queue.set(one, dueAt);
        if (isTaken) expected.delete(one);
        else expected.set(one, dueAt);
      }
      expect(queue.size).toBe(expected.size);
      const found: number[] = [];
      for (let one = queue.firstDue(now); one !== undefined; one = queue.firstDue(now)) {
        found.push(one.dueAt);
        queue.delete(one);
      }
      const due = [...expected.values()].filter((dueAt) => dueAt <= now);
      expect(found).toEqual(due.sort((a, b) => a - b));
      expect(queue.size).toBe(expected.size - due.length);
    }),
  );
});
