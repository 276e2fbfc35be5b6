import { expect, test } from "vitest";
import { type Figure, isCompared, isWithinBounds } from "./figure.ts";

function figure(measured: number | undefined, ...bounds: readonly [number, number][]): Figure {
  const expected = bounds.map(([from, to]) => ({
    source: "write-up" as const,
    text: "x",
    from,
    to,
  }));
  return { id: "x", text: "x", unit: "count", measured, expected };
}

test("a figure is within its bounds when it lies between all of them", () => {
  expect(isWithinBounds(figure(5))).toBe(true);
  expect(isWithinBounds(figure(5, [5, 5], [0, 9]))).toBe(true);
  expect(isWithinBounds(figure(5, [5, 9], [0, 4]))).toBe(false);
  expect(isWithinBounds(figure(undefined, [0, 9]))).toBe(false);
  expect(isWithinBounds(figure(Number.NaN, [0, 9]))).toBe(false);
});

test("a remark is not compared, and an input is not either", () => {
  expect(isCompared(figure(5, [0, 9]))).toBe(true);
  expect(isCompared(figure(5))).toBe(false);
  expect(isCompared({ ...figure(5), expected: [{ source: "write-up", text: "x" }] })).toBe(false);
  const input = { ...figure(5, [0, 4]), fittedBy: "5 workers" };
  expect([isCompared(input), isWithinBounds(input)]).toEqual([false, true]);
});
