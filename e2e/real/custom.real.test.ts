// CustomResourceDefinitions and their objects on the embedded API server and on a real one. Both must
// accept, complete and refuse the same, in the same words, apart from the known differences of rules.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeEnvironment } from "../../src/environment/node/node-environment.ts";
import { type StartedServer, startEmbeddedServer } from "../contract/embedded-server.ts";
import type { AskedServers } from "./custom/compare.ts";
import { type KnownRuleDifference, knownCauses } from "./custom/known-differences.ts";
import { gatewayApi, multiClusterServicesApi } from "./custom/published-definitions.ts";
import {
  type CaseReport,
  compareDefinitions,
  compareObjects,
  compareRules,
} from "./custom/run-cases.ts";
import { comparePublished } from "./custom/run-published.ts";
import { type RealControlPlane, startRealControlPlane } from "./harness/real-control-plane.ts";
import { writeRealResult } from "./results.ts";

const timeoutMs = 300_000;
const reports = new Map<string, CaseReport>();

let plane: RealControlPlane;
let embedded: StartedServer;
let servers: AskedServers;
beforeAll(async () => {
  [plane, embedded] = await Promise.all([startRealControlPlane(), startEmbeddedServer()]);
  const { url, token, ca } = plane;
  servers = { ours: embedded, theirs: { environment: nodeEnvironment(), url, token, tls: { ca } } };
});
afterAll(async () => {
  await embedded?.stop();
  await plane?.stop();
  writeRealResult({
    section: "custom-resources",
    title: "Custom resources",
    text:
      "Definitions, objects of custom kinds, and rules in CEL, each given to both servers; and the " +
      "definitions and examples that the Gateway API and the multi-cluster services API publish.",
    facts: {},
    columns: ["what", "compared", "differences", "known differences"],
    rows: [...reports].map(([what, { compared, differences, known }]) => [
      what,
      compared,
      differences.length,
      [...known.values()].reduce((sum, count) => sum + count, 0),
    ]),
  });
  writeRealResult({
    section: "custom-resources-rules",
    title: "Known differences of rules in CEL",
    text: "The embedded server runs rules with a library; decisions/cel.md has the reasons.",
    facts: {},
    columns: ["difference", "reason", "cases"],
    rows: [...knownCounts()].map(([{ what, why }, count]) => [what, why, count]),
  });
});

function knownCounts(): ReadonlyMap<KnownRuleDifference, number> {
  const counts = new Map<KnownRuleDifference, number>();
  for (const { known } of reports.values()) {
    for (const [reason, count] of known) counts.set(reason, (counts.get(reason) ?? 0) + count);
  }
  return counts;
}

describe("custom resources are as on the real server", () => {
  it.each([
    ["definitions", () => compareDefinitions(servers)],
    ["objects and changes of them", () => compareObjects(servers)],
    ["rules", () => compareRules(servers)],
    ["the Gateway API", () => comparePublished(servers, gatewayApi("experimental"))],
    ["the multi-cluster services API", () => comparePublished(servers, multiClusterServicesApi())],
  ])(
    "%s",
    async (what, compare) => {
      const report = await compare();
      reports.set(what, report);
      expect(report.compared).toBeGreaterThan(0);
      expect(report.differences.slice(0, 5)).toEqual([]);
    },
    timeoutMs,
  );

  it("every known difference of rules occurs", () => {
    const counts = knownCounts();
    expect(knownCauses.filter((one) => !counts.has(one)).map(({ what }) => what)).toEqual([]);
  });
});
