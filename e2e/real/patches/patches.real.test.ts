// Thousands of random patches, of every kind and with every directive, against the embedded API
// server and a real one: both must give the same result.
import { afterAll, beforeAll, expect, it } from "vitest";
import { nodeEnvironment } from "../../../src/environment/node/node-environment.ts";
import { type StartedServer, startEmbeddedServer } from "../../contract/embedded-server.ts";
import { type RealControlPlane, startRealControlPlane } from "../harness/real-control-plane.ts";
import { writeRealResult } from "../results.ts";
import { comparePatches } from "./patch-cases.ts";

/** A new one each time would find more, and a failure would not repeat. */
const seed = 20_260_115;
const count = 4_000;
const timeoutMs = 300_000;

let plane: RealControlPlane;
let embedded: StartedServer;
beforeAll(async () => {
  [plane, embedded] = await Promise.all([startRealControlPlane(), startEmbeddedServer()]);
});
afterAll(async () => {
  await embedded?.stop();
  await plane?.stop();
});

it(
  "gives the same objects and the same refusals",
  async () => {
    const { url, token, ca } = plane;
    const environment = nodeEnvironment();
    const theirs = { environment, url, token, tls: { ca } };
    const report = await comparePatches({ ours: embedded, theirs, seed, count });
    writeRealResult({
      section: "patches",
      title: "Patches",
      text:
        "Random JSON, merge and strategic merge patches of Deployments, Services, Nodes and " +
        "ConfigMaps, each as a dry run on both servers.",
      facts: {
        "patches compared": report.compared,
        "applied by the real server": report.applied,
        differences: report.differences.length,
      },
      columns: [],
      rows: [],
    });
    expect(report.differences.slice(0, 5)).toEqual([]);
  },
  timeoutMs,
);
