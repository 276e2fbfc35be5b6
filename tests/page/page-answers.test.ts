import { Compile } from "typebox/compile";
import { expect, test } from "vitest";
import {
  Doctor,
  Incidents,
  Journeys,
  Recording,
  SeriesAnswer,
  Services,
  State,
  TruthTable,
  WhatIfAnswer,
  WhatIfInputs,
} from "../../src/server/api.ts";
import {
  doctorAt,
  incidentsAt,
  journeysAt,
  recordingAt,
  seriesAt,
  servicesAt,
  stateAt,
  truthAt,
  whatIfAnswer,
  whatIfInputs,
} from "./page-answers.ts";

const now = 1_700_000_000_000;

test.each([
  ["state", State, stateAt(now)],
  ["journeys", Journeys, { journeys: journeysAt(now), next: null }],
  ["services", Services, servicesAt()],
  ["truth table", TruthTable, truthAt(now)],
  ["series", SeriesAnswer, seriesAt(now)],
  ["doctor", Doctor, doctorAt(now)],
  ["incidents", Incidents, incidentsAt(now, "fault")],
  ["what-if inputs", WhatIfInputs, whatIfInputs],
  ["what-if answer", WhatIfAnswer, whatIfAnswer({})],
  ["recording", Recording, recordingAt(now)],
] as const)("the example of the answer %s fits its schema", (_, schema, value) => {
  expect([...Compile(schema).Errors(value)]).toEqual([]);
});

test("a row of the truth table has a cell for each source", () => {
  const { rows, witnesses } = truthAt(now);
  expect(rows.map(({ cells }) => cells.length)).toEqual(rows.map(() => witnesses.length));
});
