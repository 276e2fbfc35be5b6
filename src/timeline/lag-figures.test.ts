import fc from "fast-check";
import { expect, test } from "vitest";
import { LagFigures } from "./lag-figures.ts";

function figuresOf(lags: readonly number[]): LagFigures {
  const figures = new LagFigures();
  for (const lag of lags) figures.add(lag);
  return figures;
}

test("without any lag there is no quantile", () => {
  expect(figuresOf([]).quantileMs(0.5)).toBeUndefined();
  expect(figuresOf([]).count).toBe(0);
});

test("lags of nothing at all are nothing at every quantile", () => {
  expect(figuresOf([0, 0, 0]).quantileMs(0.99)).toBe(0);
});

test("a single lag is every quantile, exactly", () => {
  expect(figuresOf([3_002]).quantileMs(0.5)).toBe(3_002);
});

test("a quantile is within two per cent of the lag at its place, and the longest is exact", () => {
  const lag = fc.double({ min: 0.01, max: 1e9, noNaN: true });
  fc.assert(
    fc.property(
      fc.array(lag, { minLength: 1, maxLength: 50 }),
      fc.constantFrom(0.5, 0.99, 1),
      (lags, share) => {
        const sorted = [...lags].sort((a, b) => a - b);
        const exact = sorted[Math.ceil(share * lags.length) - 1] ?? Number.NaN;
        const figures = figuresOf(lags);
        expect(figures.quantileMs(share)).toBeGreaterThan(exact * 0.979);
        expect(figures.quantileMs(share)).toBeLessThan(exact * 1.021);
        expect(figures.maxMs).toBe(sorted.at(-1));
      },
    ),
    { numRuns: 100 },
  );
});
