// The order of events is what a repeatable run stands on, so it is checked against plain sorting.
import fc from "fast-check";
import { expect, test } from "vitest";
import { EventQueue, type ScheduledEvent } from "./event-queue.ts";

const nothing = (): void => undefined;

function popAll(queue: EventQueue): number[] {
  const sequences: number[] = [];
  for (let event = queue.pop(); event !== undefined; event = queue.pop()) {
    event.callback = undefined;
    sequences.push(event.sequence);
  }
  return sequences;
}

function inOrder(events: readonly ScheduledEvent[]): number[] {
  return events
    .toSorted((left, right) => left.dueAt - right.dueAt || left.sequence - right.sequence)
    .map((event) => event.sequence);
}

test("gives events by time, and in the order scheduled when the times are equal", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 300 }), (times) => {
      const queue = new EventQueue();
      const events = times.map((atMs) => queue.schedule(atMs, undefined, nothing));
      expect(popAll(queue)).toEqual(inOrder(events));
    }),
  );
});

test("gives what was neither cancelled nor owned by an owner that ended", () => {
  const step = fc.record({
    atMs: fc.integer({ min: 0, max: 1000 }),
    owned: fc.boolean(),
    cancelled: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 1500, size: "max" }), (steps) => {
      const queue = new EventQueue();
      const owner = {};
      const events = steps.map(({ atMs, owned }) =>
        queue.schedule(atMs, owned ? owner : undefined, nothing),
      );
      for (const [index, event] of events.entries()) {
        if (steps[index]?.cancelled === true) queue.cancel(event);
      }
      queue.cancelOwnedBy(owner);
      const expected = events.filter((event, index) => {
        return event.owner === undefined && steps[index]?.cancelled !== true;
      });
      expect(queue.size).toBe(expected.length);
      expect(popAll(queue)).toEqual(inOrder(expected));
    }),
  );
});

test("cancelling an event that ran, or twice, changes nothing", () => {
  const queue = new EventQueue();
  const ran = queue.schedule(1, undefined, nothing);
  const cancelled = queue.schedule(2, undefined, nothing);
  const kept = queue.schedule(3, undefined, nothing);
  const popped = queue.pop();
  expect(popped).toBe(ran);
  ran.callback = undefined;
  queue.cancel(ran);
  queue.cancel(cancelled);
  queue.cancel(cancelled);
  expect(queue.size).toBe(1);
  expect(queue.pop()).toBe(kept);
  expect(queue.pop()).toBeUndefined();
});
