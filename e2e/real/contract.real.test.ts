import { afterAll, beforeAll, expect, test } from "vitest";
import { nodeEnvironment } from "../../src/environment/node/node-environment.ts";
import { allCases } from "../contract/cases/all-cases.ts";
import type { Transcript } from "../contract/contract-case.ts";
import { type StartedServer, startEmbeddedServer } from "../contract/embedded-server.ts";
import { describeDifferences, judge, type Verdict } from "../contract/judge.ts";
import { writeRecordedAnswers } from "../contract/recorded-answers.ts";
import { runContract } from "../contract/run-contract.ts";
import { realVersions } from "./harness/real-binaries.ts";
import { type RealControlPlane, startRealControlPlane } from "./harness/real-control-plane.ts";
import { knownDifferences } from "./known-differences.ts";
import { writeRealResult } from "./results.ts";

/** A longer report would not be read. */
const shownDifferences = 40;

let plane: RealControlPlane;
let embedded: StartedServer;

beforeAll(async () => {
  plane = await startRealControlPlane({
    users: [{ token: "other-token", name: "other", groups: ["testers"] }],
  });
  embedded = await startEmbeddedServer();
});

afterAll(async () => {
  await embedded?.stop();
  await plane?.stop();
});

test("the embedded server answers as the real one, except where it is known why not", async () => {
  const environment = nodeEnvironment();
  const { url, token, ca } = plane;
  const real = plain(await runContract({ environment, url, token, tls: { ca } }, allCases));
  const ours = plain(await runContract(embedded, allCases));
  const { kubernetes } = realVersions();
  if (process.env["LOCKSTEP_WRITE_DOCS"] === "1") {
    writeRecordedAnswers({ kubernetes, answers: real });
  }
  const verdict = judge(real, ours, knownDifferences);
  report(verdict, kubernetes);
  const gone = verdict.gone.map(({ what }) => what);
  expect(gone, "listed in known-differences.ts, but they no longer occur").toEqual([]);
  const unlisted = describeDifferences(verdict.unlisted, shownDifferences);
  expect(unlisted, "not in known-differences.ts").toBe("");
});

/** As they would be after they were written down and read again. */
function plain(transcripts: ReadonlyMap<string, Transcript>): ReadonlyMap<string, Transcript> {
  const text = JSON.stringify([...transcripts]);
  return new Map(JSON.parse(text) as [string, Transcript][]);
}

function report(verdict: Verdict, kubernetes: string): void {
  const { cases, requests, explained, unlisted } = verdict;
  const counts = areaCounts();
  const lines = [
    `API contract: kube-apiserver ${kubernetes} and the embedded server`,
    `  ${cases} cases (${counts.map(([area, count]) => `${area} ${count}`).join(", ")})`,
    `  ${requests} requests compared, ${unlisted.length} unlisted differences`,
    ...[...explained].map(([{ what }, count]) => `  ${count} × ${what}`),
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
  writeRealResult({
    section: "1-api",
    title: "The API server",
    text:
      "Each case sends the same requests to a real kube-apiserver and to the embedded server and " +
      "compares the whole answers: status, headers, every field of the body, every event of a " +
      "watch. Only values that two correct servers may choose differently are removed before: " +
      "identities, versions (their order stays), times, addresses and ports.",
    facts: { "kube-apiserver": kubernetes, cases, "requests compared": requests },
    columns: ["Area", "Cases"],
    rows: counts,
  });
  writeRealResult({
    section: "2-api-differences",
    title: "Differences of the API server, with reasons",
    text: "Everything else was equal in the comparison.",
    facts: {},
    columns: ["What", "Why", "Times"],
    rows: [...explained].map(([{ what, why }, count]) => [what, why, count]),
  });
}

function areaCounts(): (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const { area } of allCases) counts.set(area, (counts.get(area) ?? 0) + 1);
  return [...counts];
}
