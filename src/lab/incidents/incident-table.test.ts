import { expect, test } from "vitest";
import type { IncidentResult } from "./incident.ts";
import { resultLines, tableHead } from "./incident-table.ts";

const result: IncidentResult = {
  name: "throttled-controller",
  isFixed: false,
  stage: "virtual",
  timeline: [],
  series: [],
  figures: [
    {
      id: "published",
      text: "longest leave lag at published",
      unit: "ms",
      measured: 52_789.9,
      expected: [{ source: "write-up", text: "30 s to 2 min", from: 30_000, to: 120_000 }],
    },
  ],
  measures: [
    {
      id: "routed",
      text: "longest leave lag at routed",
      unit: "ms",
      stock: 646_000,
      lockstep: 0.678,
      goal: "as in quiet times",
      held: true,
    },
    {
      id: "lost",
      text: "requests lost",
      unit: "requests",
      stock: 12_954,
      lockstep: 0,
      goal: "none",
      held: true,
    },
  ],
  fitted: ["1200 services: the write-up gives no number"],
  seed: 1,
  durationMs: 130_961,
  traceHash: undefined,
};

test("a result is a line for its name, one for each row and one for each fitted parameter", () => {
  expect(`\n${[tableHead(), ...resultLines(result)].join("\n")}\n`).toMatchInlineSnapshot(`
    "
                                              write-up          stock      Lockstep
    throttled-controller
     longest leave lag at published      30 s to 2 min         52.8 s             –
     longest leave lag at routed                          10 min 46 s      0.678 ms
     requests lost                                             12,954             0
      fitted: 1200 services: the write-up gives no number
    "
  `);
});

test("the fix is named, and nothing is wider than the table, however long", () => {
  const long = "a measure with far too long a name for any table";
  const figure = {
    id: "long",
    text: long,
    unit: "count",
    measured: 1e15,
    expected: [{ source: "write-up", text: long }],
  } as const;
  const measures = [
    { id: "long", text: long, unit: "requests", stock: 1e15, lockstep: 1e15, goal: "", held: true },
  ] as const;
  const lines = resultLines({
    ...result,
    isFixed: true,
    figures: [figure],
    measures,
    fitted: [long + long],
  });
  expect(`\n${lines.join("\n")}\n`).toMatchInlineSnapshot(`
    "
    throttled-controller, with the fix
     a measure with far too long a… a measure with fa… 1,000,000,000…             –
     a measure with far too long a…                    1,000,000,000… 1,000,000,00…
      fitted: a measure with far too long a name for any tablea measure with far to…
    "
  `);
  expect(Math.max(...lines.map(({ length }) => length))).toBe(80);
});
