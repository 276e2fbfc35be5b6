import { expect, test } from "vitest";
import { knownDifferences } from "../real/known-differences.ts";
import { allCases } from "./cases/all-cases.ts";
import { caseName, type Transcript } from "./contract-case.ts";
import { startEmbeddedServer } from "./embedded-server.ts";
import { describeDifferences, judge } from "./judge.ts";
import { readRecordedAnswers } from "./recorded-answers.ts";
import { runContract } from "./run-contract.ts";

/** A longer report would not be read. */
const shownDifferences = 20;

/** Ports are drawn by chance: once in some hundred runs two are alike that were not on record. */
const chance = { retry: 1 };

test("the embedded server answers as a real one was recorded to answer", chance, async () => {
  const { answers } = readRecordedAnswers();
  expect([...answers.keys()], "record again: npm run test:real -- --write-docs").toEqual(
    allCases.map(caseName),
  );
  const server = await startEmbeddedServer();
  try {
    const ours = JSON.parse(JSON.stringify([...(await runContract(server, allCases))])) as [
      string,
      Transcript,
    ][];
    const verdict = judge(answers, new Map(ours), knownDifferences);
    expect(
      describeDifferences(verdict.unlisted, shownDifferences),
      "correct the lab, or give the reason in e2e/real/known-differences.ts",
    ).toBe("");
    expect(verdict.gone.map(({ what }) => what)).toEqual([]);
  } finally {
    await server.stop();
  }
});
