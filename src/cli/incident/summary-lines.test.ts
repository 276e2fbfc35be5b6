import { expect, test } from "vitest";
import { paintFor } from "../paint.ts";
import { result } from "./incident-result.contract.ts";
import { reportDocument } from "./report-document.ts";
import { didHold, summaryHead, summaryLines } from "./summary-lines.ts";

const options = { width: 80, paint: paintFor({ colours: false }) };

test("the summary has write-up, stock and Lockstep beside each other", () => {
  const lines = [...summaryHead(options), ...summaryLines(result, options)];
  expect(`\n${lines.join("\n")}\n`).toMatchInlineSnapshot(`
    "
                                              write-up  stock (model)       Lockstep
    throttled-controller
    ●  drain time                            10–12 min    10 min 48 s              –
    !  PUT requests per resync                  12,954         11,000              –
       highest rate                                            42.6/s              –
       what was not seen                          some              –              –
    ●  longest leave lag at routed                         1 min 14 s       0.583 ms
       requests sent                                            1,338          1,338
    !  requests lost                                              853              2
    ●  until the ghost is named                                     –            2 s
    "
  `);
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
          { id: "never", measured: null, expected: [{ text: "some", verdict: "shown" }] },
        ],
        measures: [{}, { goal: null }, { held: false }, { stock: null }],
      },
    ],
  });
});
