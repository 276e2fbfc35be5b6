// The published schema of the JSON output fits what the doctor prints.
import { readFileSync } from "node:fs";
import Schema from "typebox/schema";
import { expect, test } from "vitest";
import { allCauses, type Diagnosis, diagnose } from "../../src/doctor/diagnose.ts";
import { evidenceIn, noFacts } from "../../src/doctor/evidence/evidence.ts";
import { TextReader } from "../../src/doctor/evidence/text-reader.ts";
import { jsonReport } from "../../src/doctor/report/json.ts";
import { doctorCases } from "./cases.ts";
import { pastedCases } from "./pasted-cases.ts";
import { strangerCases } from "./stranger-cases.ts";

const schema = JSON.parse(readFileSync("docs/doctor.schema.json", "utf8")) as object;
const validator = Schema.Compile(schema);

function diagnosisOf(text: string): Diagnosis {
  const facts = noFacts();
  const reader = new TextReader(facts, "a.txt");
  for (const line of text.split("\n")) reader.push(line);
  reader.end();
  return diagnose(evidenceIn(facts));
}

/** As a reader of the output gets it. */
function reportOf(text: string): { findings: { rule: string; severity: string }[] } {
  return JSON.parse(JSON.stringify(jsonReport(diagnosisOf(text))));
}

const cases = [...doctorCases, ...pastedCases, ...strangerCases];

test.each(cases)("$name", ({ text }) => {
  const report = reportOf(text);
  expect([validator.Check(report), validator.Errors(report)[1]]).toEqual([true, []]);
});

test("an output that does not fit is refused", () => {
  const report = reportOf(cases.find(({ first }) => first === "apiserver-fight")?.text ?? "");
  expect(validator.Check({ ...report, version: 1 })).toBe(false);
  expect(
    validator.Check({ ...report, findings: [{ ...report.findings[0], severity: "bad" }] }),
  ).toBe(false);
  expect(validator.Check({ ...report, findings: [{ ...report.findings[0], fix: {} }] })).toBe(
    false,
  );
});

test("each cause has a section in the document, and a case that names it", () => {
  const document = readFileSync("docs/causes/README.md", "utf8");
  const named = new Set(
    cases.flatMap(({ text }) =>
      diagnosisOf(text).findings.flatMap(({ rule, consequences }) => [
        rule,
        ...consequences.map((one) => one.rule),
      ]),
    ),
  );
  const without = allCauses
    .map(({ name }) => name)
    .filter((name) => !document.includes(`## ${name}\n`));
  expect(without).toEqual([]);
  // Copies in another cluster are shown by observed changes only.
  expect(allCauses.map(({ name }) => name).filter((name) => !named.has(name))).toEqual([
    "stale-copies",
  ]);
});
