import { expect, test } from "vitest";
import { allCauses, diagnose } from "../../src/doctor/diagnose.ts";
import { noFacts } from "../../src/doctor/evidence/evidence.ts";
import { TextReader } from "../../src/doctor/evidence/text-reader.ts";
import { casesIn, type DoctorCase } from "./case.ts";
import { doctorCases as plainCases } from "./cases.ts";
import { heldOutCases } from "./held-out-cases.ts";
import { issueCases } from "./issue-cases.ts";
import { pastedCases } from "./pasted-cases.ts";
import { setAsideCases } from "./set-aside-cases.ts";
import { strangerCases } from "./stranger-cases.ts";

/**
 * Modelled on public issues and their pasted texts, by the batch in which they were read. Each batch was judged
 * before a rule was changed for it: 77 of 86, 26 of 30 and 19 of 25 were named right, with a false alarm on 3
 * of the 69 that have no cause. The fourth is written from what 58 more showed: of 34 with a cause 17 were named
 * first and 10 listed with the missing evidence, and none of the 24 that look alike was a false alarm. The fifth is written from what 71 more showed: of 29 with a
 * cause 16 were named first and 8 listed with the missing evidence, and 4 of the 42 that look alike were a false
 * alarm; then from 50 others: of 24 with a cause 12 were named first and 5 listed, and none of the 26 others was an
 * alarm. The sixth is written from what 70 more showed: of 34 with a cause 22 were named first and 5 listed, and 1 of
 * the 36 that show too little or look alike was a false alarm; then from 50 others: of 14 with a cause 9 were named
 * first and 3 listed, and none of the 36 others was an alarm. The seventh is written from what 267 more showed: of
 * 109 with a cause 65 were named first and 26 listed, and 3 of the 158 others were a false alarm; of the 68 that were
 * set aside among them, 18 of 27 were named first and 8 listed, with 1 false alarm. The eras are no batch: they complete the formats of each cause.
 */
const publicCases = [
  "first",
  "second",
  "third",
  "fourth",
  "fifth",
  "sixth",
  "seventh",
  "eras",
].flatMap((batch) => casesIn(new URL(`public/${batch}/`, import.meta.url)));

const doctorCases = [
  ...plainCases,
  ...pastedCases,
  ...strangerCases,
  ...issueCases,
  ...publicCases,
];

function diagnosisOf(text: string, change: (line: string) => string = (line) => line) {
  const facts = noFacts();
  const reader = new TextReader(facts, "pasted.txt");
  for (const line of text.split("\n")) reader.push(change(line));
  reader.end();
  return diagnose({ ...facts, metrics: [], journeys: undefined });
}

test.each(doctorCases)("$name", ({ text, first, also = [], open = [], not = [] }) => {
  const diagnosis = diagnosisOf(text);
  const named = diagnosis.findings.filter(({ severity }) => severity !== "info");
  expect(named[0]?.rule).toBe(first);
  const all = diagnosis.findings.flatMap(({ rule, consequences }) => [
    rule,
    ...consequences.map((effect) => effect.rule),
  ]);
  expect(all).toEqual(expect.arrayContaining([...also]));
  expect(diagnosis.open.map(({ rule }) => rule)).toEqual(expect.arrayContaining([...open]));
  const above = named.flatMap(({ rule, consequences }) => [
    rule,
    ...consequences.filter(({ severity }) => severity !== "info").map((effect) => effect.rule),
  ]);
  expect(above.filter((rule) => not.includes(rule))).toEqual([]);
});

/** People quote, indent and number lines, and collectors add prefixes. */
test.each<[string, (line: string) => string]>([
  ["quoted", (line) => `> ${line}`],
  [
    "with collapsed spaces",
    (line) => (/^\s|:\s*$/.test(line) ? line : line.replaceAll(/ +/g, " ")),
  ],
  ["with the end of a line of another system", (line) => `${line}\r`],
])("logs are read the same %s", (_way, change) => {
  for (const { name, text, first } of doctorCases) {
    if (/apiVersion|READY/.test(text)) continue;
    const named = diagnosisOf(text, change).findings.filter(({ severity }) => severity !== "info");
    expect([name, named[0]?.rule]).toEqual([name, first]);
  }
});

test("two causes at once are both named", () => {
  const of = (name: string): string => doctorCases.find((one) => one.name === name)?.text ?? "";
  const both = `${of("late heartbeats, 1.6, glog")}\n${of("a fight as journald shows it, 1.2")}`;
  expect(
    diagnosisOf(both)
      .findings.map(({ rule }) => rule)
      .sort(),
  ).toEqual(["apiserver-fight", "late-heartbeats"]);
});

test("any two causes in one text are both named", () => {
  const texts = new Map<string, string>();
  for (const { first, text } of publicCases) {
    if (first !== undefined && !texts.has(first)) texts.set(first, text);
  }
  const pairs = [...texts].flatMap(([a]) => [...texts].map(([b]) => [a, b] as const));
  const missed = pairs.flatMap(([a, b]) => {
    if (a >= b) return [];
    const { findings } = diagnosisOf(`${texts.get(a)}\n\n${texts.get(b)}`);
    const named = findings.flatMap(({ rule, consequences }) => [
      rule,
      ...consequences.map((effect) => effect.rule),
    ]);
    return [a, b].filter((cause) => !named.includes(cause)).map((cause) => `${a}, ${b}: ${cause}`);
  });
  expect(texts.size).toBeGreaterThan(15);
  expect(missed).toEqual([]);
});

test("red herrings beside it do not change the cause that is named first", () => {
  const herrings = publicCases
    .filter(({ name }) => /^(?:clocks|discovery of|etcd a little|throttled leases)/.test(name))
    .map(({ text }) => text);
  expect(herrings.length).toBeGreaterThan(3);
  const changed = publicCases.flatMap(({ name, first, text }) => {
    if (first === undefined) return [];
    const { findings } = diagnosisOf([...herrings, text].join("\n\n"));
    return findings[0]?.rule === first ? [] : [`${name}: ${findings[0]?.rule ?? "nothing"}`];
  });
  expect(changed).toEqual([]);
});

test("each finding has its evidence with a place, and a fix", () => {
  for (const { text } of doctorCases) {
    const { findings, open } = diagnosisOf(text);
    for (const { evidence } of open) {
      expect(evidence.length).toBeGreaterThan(0);
      for (const { source } of evidence) expect(source).toMatch(/^pasted\.txt:\d+$/);
    }
    for (const { evidence, fix, cause } of findings) {
      expect(evidence.length).toBeGreaterThan(0);
      for (const { source } of evidence) expect(source).toMatch(/^pasted\.txt:\d+$/);
      expect(cause).toMatch(/\.$/);
      expect(fix.change).not.toBe("");
    }
  }
});

/** Set aside before the rules were written. The miss stays: no rule is tuned to these texts. */
test("texts that were set aside are named as at first, all but one", () => {
  const wrong = [...heldOutCases, ...setAsideCases].flatMap(({ name, text, first }) => {
    const named = diagnosisOf(text).findings.filter(({ severity }) => severity !== "info");
    return named[0]?.rule === first
      ? []
      : [`${name}: ${named[0]?.rule ?? "nothing"} instead of ${first ?? "nothing"}`];
  });
  expect(wrong).toEqual([
    "kube-proxy of AKS whose watches break again and again: api-unreachable instead of broken-watches",
  ]);
});

function minorOf({ version, name }: DoctorCase): string | undefined {
  return /\b1\.(\d{1,2})\b/.exec(version ?? name)?.[1];
}

test("the misses among public texts are known", () => {
  const missed = publicCases.flatMap(({ name, missed: cause }) =>
    cause === undefined ? [] : [`${name}: ${cause}`],
  );
  expect(missed).toEqual([
    "fsync histogram of etcd: etcd-slow",
    "kube proxy keeps a master that is gone: stale-proxy",
  ]);
});

/** Formats changed with klog's files and lines, with structured messages, and with new kinds. */
function eraOf(one: DoctorCase): string | undefined {
  const minor = minorOf(one);
  if (minor === undefined) return undefined;
  if (Number(minor) < 14) return "before 1.14";
  return Number(minor) < 21 ? "1.14 to 1.20" : "since 1.21";
}

const allCases = [...doctorCases, ...heldOutCases, ...setAsideCases];

/** Only observed changes show it. */
const notInTexts = ["stale-copies"];

/** These are of a few versions, which have the same formats. */
const ofFewVersions = ["headless-rewrites", "per-sync-get", "over-capacity"];

test("each cause has texts of two eras, and texts of two that look like it", () => {
  const erasOf = (cases: readonly DoctorCase[], of = eraOf): number =>
    new Set(cases.flatMap((one) => of(one) ?? [])).size;
  const lacking = allCauses.flatMap(({ name }) => {
    const having = erasOf(
      allCases.filter(({ first, also = [] }) => first === name || also.includes(name)),
      ofFewVersions.includes(name) ? minorOf : eraOf,
    );
    const alike = erasOf(allCases.filter(({ not = [] }) => not.includes(name)));
    const isEnough = notInTexts.includes(name) || (having >= 2 && alike >= 2);
    return isEnough ? [] : [`${name}: ${having} eras, and ${alike} that look like it`];
  });
  expect(lacking).toEqual([]);
});
