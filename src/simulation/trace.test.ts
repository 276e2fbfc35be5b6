// The hash must change with everything that happens, and two traces must show where they part.
import { expect, test } from "vitest";
import { firstDifference, Trace } from "./trace.ts";

const bigBody = Buffer.alloc(200_000, "x");
const longText = "é".repeat(100_000);

function hashOf(fill: (trace: Trace) => void): string {
  const trace = new Trace();
  fill(trace);
  return trace.hash();
}

test("the same entries in the same order give the same hash", () => {
  const fill = (trace: Trace): void => {
    for (let index = 0; index < 10_000; index++) {
      trace.add("message", index / 3, index, 0, `GET /${index}`, Buffer.from(`body ${index}`));
    }
    trace.add("message", 1, 1, 1, "big", bigBody);
    trace.add("log", 2, 1, 1, longText);
  };
  expect(hashOf(fill)).toBe(hashOf(fill));
});

test("a change in any part of any entry changes the hash", () => {
  const variants: ((trace: Trace) => void)[] = [
    () => undefined,
    (trace) => trace.add("event", 1, 2, 3),
    (trace) => trace.add("draw", 1, 2, 3),
    (trace) => trace.add("event", 1.5, 2, 3),
    (trace) => trace.add("event", 1, 2.5, 3),
    (trace) => trace.add("event", 1, 2, 3.5),
    (trace) => trace.add("event", 1, 2, 3, "a"),
    (trace) => trace.add("event", 1, 2, 3, "b"),
    (trace) => trace.add("event", 1, 2, 3, "", Buffer.from("a")),
    (trace) => trace.add("event", 1, 2, 3, "a", Buffer.from("a")),
    (trace) => trace.add("event", 1, 2, 3, "", bigBody),
    (trace) => trace.add("event", 1, 2, 3, longText),
    (trace) => trace.add("event", 1, 2, 3, `${longText}x`),
  ];
  expect(new Set(variants.map(hashOf)).size).toBe(variants.length);
});

test("the order of entries matters, and where one ends and the next begins", () => {
  const ab = hashOf((trace) => {
    trace.add("log", 0, 0, 0, "a");
    trace.add("log", 0, 0, 0, "b");
  });
  const ba = hashOf((trace) => {
    trace.add("log", 0, 0, 0, "b");
    trace.add("log", 0, 0, 0, "a");
  });
  const split = hashOf((trace) => trace.add("log", 0, 0, 0, "a", Buffer.from("b")));
  const joined = hashOf((trace) => trace.add("log", 0, 0, 0, "ab"));
  expect(new Set([ab, ba, split, joined]).size).toBe(4);
});

test("asking for the hash does not disturb it", () => {
  const asked = hashOf((trace) => {
    trace.add("event", 1, 2, 3);
    trace.hash();
    trace.add("event", 4, 5, 6);
  });
  const notAsked = hashOf((trace) => {
    trace.add("event", 1, 2, 3);
    trace.add("event", 4, 5, 6);
  });
  expect(asked).toBe(notAsked);
});

test("keeps only the newest entries readable", () => {
  const trace = new Trace({ recordLast: 3 });
  for (let index = 0; index < 10; index++) trace.add("event", index, index, 0, "tick");
  expect(trace.recorded()).toEqual({
    firstIndex: 7,
    lines: ["7 event 7 0 tick", "8 event 8 0 tick", "9 event 9 0 tick"],
  });
  expect(new Trace().recorded()).toEqual({ firstIndex: 0, lines: [] });
});

test("finds where two recorded traces part", () => {
  const left = new Trace({ recordLast: 4 });
  const right = new Trace({ recordLast: 100 });
  for (let index = 0; index < 8; index++) {
    left.add("event", index, index, 0);
    right.add("event", index, index === 6 ? 99 : index, 0);
  }
  expect(firstDifference(left.recorded(), right.recorded())).toEqual({
    index: 6,
    left: "6 event 6 0",
    right: "6 event 99 0",
    before: ["4 event 4 0", "5 event 5 0"],
  });
  expect(firstDifference(left.recorded(), left.recorded())).toBeUndefined();
});

test("a trace that goes on longer differs where the other stops", () => {
  const left = new Trace({ recordLast: 10 });
  const right = new Trace({ recordLast: 10 });
  left.add("log", 0, 0, 0, "both");
  right.add("log", 0, 0, 0, "both");
  right.add("log", 0, 0, 0, "more");
  expect(firstDifference(left.recorded(), right.recorded())).toEqual({
    index: 1,
    left: undefined,
    right: "0 log 0 0 more",
    before: ["0 log 0 0 both"],
  });
});
