import { expect, test } from "vitest";
import type { IncidentResult } from "./incident.ts";
import { resultLines, tableHead } from "./incident-table.ts";

const result: IncidentResult = {
  name: "throttled-controller",
  isFixed: false,
  rows: [
    {
      measure: "longest leave lag at published",
      writeUp: "30 s to 2 min",
      stock: 52_789.9,
      lockstep: undefined,
      unit: "ms",
    },
    {
      measure: "longest leave lag at routed",
      writeUp: "",
      stock: 646_000,
      lockstep: 0.678,
      unit: "ms",
    },
    { measure: "requests lost", writeUp: "", stock: 12_954, lockstep: 0, unit: "requests" },
  ],
  fitted: ["1200 services: the write-up gives no number"],
  seed: 1,
  virtualMs: 130_961,
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
  const row = {
    measure: long,
    writeUp: long,
    stock: 1e15,
    lockstep: 1e15,
    unit: "requests",
  } as const;
  const lines = resultLines({ ...result, isFixed: true, rows: [row], fitted: [long + long] });
  expect(`\n${lines.join("\n")}\n`).toMatchInlineSnapshot(`
    "
    throttled-controller, with the fix
     a measure with far too long a… a measure with fa… 1,000,000,000… 1,000,000,00…
      fitted: a measure with far too long a name for any tablea measure with far to…
    "
  `);
  expect(Math.max(...lines.map(({ length }) => length))).toBe(80);
});
