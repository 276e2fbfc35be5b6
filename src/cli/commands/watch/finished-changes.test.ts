import { expect, test } from "vitest";
import { at, type ChangeFields, change } from "../../../../tests/cli/watched-changes.ts";
import { FinishedChanges, type FinishedLine } from "./finished-changes.ts";

function textOf(line: FinishedLine): string {
  if (line.type === "change") return `one ${line.journey.id}`;
  if (line.type === "more") return `more ${line.changes} of ${line.services}`;
  const { service, count, since, longestMs, atLeast } = line.group;
  const published = `${atLeast.has("published") ? "≥" : ""}${longestMs.get("published")}`;
  return `group ${service} ${count} since ${since}, published ${published}`;
}

/** Adds so many that are over at the same moment. */
function add(
  finished: FinishedChanges,
  fields: (index: number) => ChangeFields,
  { count = 1, nowMs = 0, isSlow = false } = {},
): void {
  for (let index = 1; index <= count; index += 1) {
    finished.add(change({ id: index, ...fields(index) }), { now: at(nowMs), isSlow });
  }
}

test("a few are shown one by one, at once", () => {
  const finished = new FinishedChanges();
  add(finished, () => ({}), { count: 3 });
  expect(finished.take(at(0)).map(textOf)).toEqual(["one 1", "one 2", "one 3"]);
  expect(finished.take(at(100))).toEqual([]);
});

test("of many the rest are one line for those that are alike, when the second is over", () => {
  const finished = new FinishedChanges();
  const fields = (index: number) => ({
    service: index % 3 === 0 ? "shop/cart" : "shop/web",
    originMs: 1_000 - index,
    hops: { pod: 0, published: index },
  });
  add(finished, fields, { count: 40 });
  expect(finished.take(at(100))).toHaveLength(10);
  expect(finished.take(at(900))).toEqual([]);
  expect(finished.take(at(1_000)).map(textOf)).toEqual([
    "group shop/web 20 since 960, published 40",
    "group shop/cart 10 since 961, published 39",
  ]);
});

test("of many that a list told of the longest lag is the longest that is certain", () => {
  const finished = new FinishedChanges();
  const listed = (lagMs: number, minMs: number) => {
    const state = { type: "shown", lagMs, range: { minMs, maxMs: 40_000 } } as const;
    const journey = { ...change(), hops: [{ hop: "published", witness: "alpha", state } as const] };
    finished.add(journey, { now: at(0), isSlow: false });
  };
  for (let count = 1; count <= 12; count += 1) listed(3_000 + count, count);
  finished.take(at(0));
  expect(finished.take(at(1_000)).map(textOf)).toEqual([
    "group shop/web 2 since 7000, published ≥12",
  ]);
});

test("one that is alone among the rest is shown as itself", () => {
  const finished = new FinishedChanges();
  add(finished, () => ({}), { count: 11 });
  finished.take(at(0));
  expect(finished.take(at(1_000)).map(textOf)).toEqual(["one 11"]);
});

test("slow ones are shown one by one while ordinary ones are not", () => {
  const finished = new FinishedChanges();
  add(finished, () => ({}), { count: 30 });
  add(finished, (index) => ({ id: 100 + index }), { count: 30, isSlow: true });
  expect(finished.take(at(0))).toHaveLength(40);
});

test("a rollout of everything at once stays readable", () => {
  const finished = new FinishedChanges();
  add(finished, (index) => ({ service: `shop/web-${index % 100}` }), { count: 1_000 });
  finished.take(at(0));
  const lines = finished.takeAll().map(textOf);
  expect(lines).toHaveLength(21);
  expect(lines.at(-1)).toBe("more 790 of 80");
});
