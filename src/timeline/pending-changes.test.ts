import fc from "fast-check";
import { expect, test } from "vitest";
import { ms, pod, web } from "../../tests/observer/observed.ts";
import { Change } from "./change.ts";
import { PendingChanges } from "./pending-changes.ts";
import { Place } from "./place.ts";
import type { Direction, Hop } from "./witness.ts";

function changeOf(id: number, direction: Direction, originMs: number, cluster = "east"): Change {
  const line = new Place().add({
    ...web,
    cluster,
    address: `10.0.0.${id}`,
    port: 80,
    podUid: `${id}`,
  });
  return new Change(id, line, { direction, at: ms(originMs), aheadFrom: ms(originMs) });
}

test("changes are in the order in which they were added, at most so many", () => {
  const pending = new PendingChanges();
  const all = [3, 1, 2].map((id) => changeOf(id, "join", id));
  for (const change of all) pending.add(change);
  expect(pending.first(2).map(({ id }) => id)).toEqual([3, 1]);
  expect(pending.oldest?.id).toBe(3);
  expect(pending.size).toBe(3);
});

test("the change that is due first is found, and none that is due later", () => {
  const pending = new PendingChanges();
  const all = [1, 2].map((id) => changeOf(id, "join", id));
  for (const change of all) pending.add(change);
  for (const change of all) pending.lookAgain(change, 1_000 - change.id);
  expect(pending.firstDue(ms(997))).toBeUndefined();
  expect(pending.firstDue(ms(998))?.id).toBe(2);
});

test("a change that is over is due no more and waits at no hop", () => {
  const pending = new PendingChanges();
  const change = changeOf(1, "join", 1_000);
  pending.add(change);
  pending.lookAgain(change, 2_000);
  pending.waitAt(change, ["routed"]);
  expect(pending.oldestWaiting(ms(3_000))).toEqual([
    { cluster: "east", hop: "routed", direction: "join", ageMs: 2_000 },
  ]);
  pending.delete(change);
  expect(pending.firstDue(ms(9_000))).toBeUndefined();
  expect(pending.oldestWaiting(ms(3_000))).toEqual([]);
  expect([pending.size, pending.oldest]).toEqual([0, undefined]);
});

test("the oldest pending change is known for each cluster, hop and direction", () => {
  const pending = new PendingChanges();
  const waits: readonly (readonly [Direction, number, string])[] = [
    ["join", 1_000, "east"],
    ["join", 2_000, "east"],
    ["leave", 3_000, "east"],
    ["join", 4_000, "west"],
  ];
  for (const [index, [direction, at, cluster]] of waits.entries()) {
    const change = changeOf(index, direction, at, cluster);
    pending.add(change);
    pending.waitAt(change, ["routed"]);
  }
  const found = pending.oldestWaiting(ms(10_000));
  expect(found.map(({ cluster, direction, ageMs }) => [cluster, direction, ageMs])).toEqual([
    ["east", "join", 9_000],
    ["east", "leave", 7_000],
    ["west", "join", 6_000],
  ]);
});

test("the oldest is exact, whichever changes wait where and however their origins move", () => {
  const hops = fc.subarray<Hop>(["published", "synced", "routed"]);
  const steps = fc.array(fc.record({ index: fc.nat(7), hops, earlierMs: fc.nat(500) }), {
    maxLength: 60,
  });
  const origins = fc.array(fc.integer({ min: 1_000, max: 9_000 }), { minLength: 8, maxLength: 8 });
  fc.assert(
    fc.property(steps, origins, (story, originsMs) => {
      const pending = new PendingChanges();
      const all = originsMs.map((originMs, id) =>
        changeOf(id, id % 2 === 0 ? "join" : "leave", originMs),
      );
      for (const change of all) pending.add(change);
      const waitsAt = new Map<Change, readonly Hop[]>();
      for (const { index, hops: at, earlierMs } of story) {
        const change = all[index];
        if (change === undefined) continue;
        change.show({ witness: pod, at: ms(change.originAt - earlierMs) });
        pending.waitAt(change, at);
        waitsAt.set(change, at);
      }
      const expected = new Map<string, number>();
      for (const [{ direction, originAt }, at] of waitsAt) {
        for (const hop of at) {
          const key = `${hop} ${direction}`;
          expected.set(key, Math.max(expected.get(key) ?? 0, 10_000 - originAt));
        }
      }
      const found = pending.oldestWaiting(ms(10_000));
      expect(new Map(found.map((one) => [`${one.hop} ${one.direction}`, one.ageMs]))).toEqual(
        expected,
      );
    }),
  );
});
