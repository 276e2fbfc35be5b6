// CustomResourceDefinitions and their objects, on the embedded API server and on a real one: both
// must accept, complete or refuse the same, in the same words.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeEnvironment } from "../../src/environment/node/node-environment.ts";
import { type StartedServer, startEmbeddedServer } from "../contract/embedded-server.ts";
import type { AskedServers } from "./custom/compare.ts";
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
    columns: ["what", "compared", "differences"],
    rows: [...reports].map(([what, { compared, differences }]) => [
      what,
      compared,
      differences.length,
    ]),
  });
});

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
});
