import { expect, test } from "vitest";
import { result } from "../../../../tests/incident/incident-result.ts";
import { paintFor } from "../../terminal/paint.ts";
import { reportDocument, summaryFoot, summaryHead, summaryLines } from "./summary.ts";
import { didHold, verdictText } from "./view.ts";

const options = { width: 80, paint: paintFor({ colours: false }) };

test("the summary has the headlines beside each other, and whatever did not hold", () => {
  const lines = [...summaryHead(options), ...summaryLines(result, options)];
  expect(`\n${lines.join("\n")}\n`).toMatchInlineSnapshot(`
    "
                                               reference  stock (model)     Lockstep
    ✗ throttled-controller
      Simulation matches the reference in 1 of 2 numbers (failed: PUT requests per
      resync). Lockstep met 2 of 3 goals (failed: requests lost).
         drain time                            10–12 min    10 min 48 s
      ✗  PUT requests per resync                  12,954         11,000
         slowest removal at a proxy                          1 min 14 s     0.583 ms
      ✗  requests lost of 1,338                                     853            2
    "
  `);
});

test("below the results stands how many of them held", () => {
  expect(summaryFoot([result, { ...result, figures: [], measures: [] }], options)).toEqual([
    "",
    "✗ at least one compared number is outside its bounds, or Lockstep missed a goal.",
    "reference: from the incident report; (real): measured with the real binaries.",
    "Passed: 1 of 2 replays.",
  ]);
});

test("a result holds when every figure is inside and every goal reached", () => {
  const [drain] = result.figures;
  const [lag] = result.measures;
  const figures = drain === undefined ? [] : [drain];
  const measures = lag === undefined ? [] : [lag];
  expect(didHold({ ...result, figures, measures })).toBe(true);
  expect(didHold({ ...result, measures })).toBe(false);
  expect(didHold({ ...result, figures })).toBe(false);
});

test("a figure that an input decides is neither counted nor judged", () => {
  const { figures: all } = result;
  const figures = all.filter(({ fittedBy }) => fittedBy !== undefined);
  expect(figures).toHaveLength(1);
  expect(didHold({ ...result, figures, measures: [] })).toBe(true);
  expect(verdictText({ ...result, figures, measures: [] })).toBeUndefined();
  expect(reportDocument([{ ...result, figures, measures: [] }])).toMatchObject({
    held: true,
    incidents: [{ figures: [{ fittedBy: "resync factor 2", expected: [{ verdict: "shown" }] }] }],
  });
  const headline = figures.map((figure) => ({ ...figure, isHeadline: true as const }));
  const lines = summaryLines({ ...result, figures: headline, measures: [] }, options);
  expect(lines.map((line) => line.trim().replaceAll(/ +/g, " "))).toEqual([
    "✓ throttled-controller",
    "between two resyncs (assumed) ≈ 1.37 ×2",
  ]);
});

test("the document has everything, with the comparisons made and nothing undefined", () => {
  const document: unknown = JSON.parse(JSON.stringify(reportDocument([result])));
  expect(document).toMatchObject({
    kind: "lockstep-incidents",
    version: 1,
    held: false,
    incidents: [
      {
        name: "throttled-controller",
        held: false,
        timeline: result.timeline,
        series: result.series,
        fitted: result.fitted,
        figures: [
          { id: "drain", expected: [{ verdict: "inside" }, { difference: "the same" }] },
          { id: "puts", expected: [{ verdict: "outside", difference: "outside, −15 %" }] },
          { id: "rate", expected: [] },
          { id: "period", fittedBy: "resync factor 2", expected: [{ verdict: "shown" }] },
          { id: "never", measured: null, expected: [{ text: "some", verdict: "shown" }] },
        ],
        measures: [{}, { goal: null }, { held: false }, { stock: null }],
      },
    ],
  });
});
