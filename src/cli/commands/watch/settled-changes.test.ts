import { expect, test } from "vitest";
import { at, type ChangeFields, change } from "../../../../tests/cli/watched-changes.ts";
import type { Journey } from "../../../timeline/journey.ts";
import { SettledChanges } from "./finished-changes.ts";

const pending = { outcome: "pending" } as const;

const same = (journey: Journey) => journey;

function shown(fields: ChangeFields, failed = 0): Journey {
  const traffic = { requests: failed, failed, lastFailedAt: undefined };
  return { ...change(fields), traffic };
}

function tell(settled: SettledChanges, journey: Journey, nowMs: number): Journey | undefined {
  const [hop] = journey.hops;
  if (hop === undefined) throw new Error("a change has hops");
  const type = journey.outcome === "pending" ? "shown" : "over";
  return settled.onEvent(type === "over" ? { type, journey } : { type, journey, hop }, at(nowMs));
}

test("a change is told when it is over", () => {
  const settled = new SettledChanges();
  tell(settled, change({ ...pending, hops: { pod: 0, published: "pending" } }), 0);
  expect(settled.due(at(60_000), same)).toEqual([]);
  const over = change();
  expect(tell(settled, over, 60_000)).toEqual(over);
});

test("one that waits only for requests is told after some seconds, and not again", () => {
  const settled = new SettledChanges();
  const hops = { pod: 0, published: 40, traffic: "pending" } as const;
  tell(settled, shown({ ...pending, hops }), 0);
  tell(settled, shown({ ...pending, hops }, 3), 4_000);
  expect(settled.oldest(5, same).map(({ id }) => id)).toEqual([1]);
  expect(settled.due(at(4_900), same)).toEqual([]);
  expect(settled.due(at(5_000), same).map(({ traffic }) => traffic?.failed)).toEqual([3]);
  expect(settled.due(at(5_100), same)).toEqual([]);
  expect(tell(settled, shown({ hops: { ...hops, traffic: "quiet" } }, 3), 80_000)).toBeUndefined();
});

test("requests that fail after it was told are worth another line", () => {
  const settled = new SettledChanges();
  const hops = { pod: 0, published: 40, traffic: "pending" } as const;
  tell(settled, shown({ ...pending, hops }), 0);
  settled.due(at(5_000), same);
  const over = shown({ hops: { ...hops, traffic: 9_000 } }, 2);
  expect(tell(settled, over, 80_000)).toEqual(over);
});

test("at the end those that were not told yet are, once", () => {
  const settled = new SettledChanges();
  const hops = { pod: 0, published: 40, traffic: "pending" } as const;
  tell(settled, shown({ ...pending, id: 1, hops }), 0);
  settled.due(at(5_000), same);
  const untold = shown({ ...pending, id: 2, hops });
  tell(settled, untold, 6_000);
  tell(settled, shown({ ...pending, id: 3, hops: { pod: 0, published: "pending" } }), 6_000);
  expect(settled.takeAll(same)).toEqual([untold]);
  expect(settled.takeAll(same)).toEqual([]);
});

test("it is told with the requests that were counted since, which are not worth another line", () => {
  const settled = new SettledChanges();
  const hops = { pod: 0, published: 40, traffic: "pending" } as const;
  tell(settled, shown({ ...pending, hops }), 0);
  const now = shown({ ...pending, hops }, 3);
  expect(settled.oldest(5, () => now)).toEqual([now]);
  expect(settled.due(at(5_000), () => now)).toEqual([now]);
  expect(tell(settled, shown({ hops: { ...hops, traffic: 9_000 } }, 3), 80_000)).toBeUndefined();
});
