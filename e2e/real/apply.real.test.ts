// Server-side apply and field ownership: a table of cases and thousands of random histories, each
// answered by a real kube-apiserver and by the embedded server, byte by byte alike.
import { afterAll, beforeAll, expect, test } from "vitest";
import { type StartedServer, startEmbeddedServer } from "../contract/embedded-server.ts";
import { type ApplyDifference, type ApplyServers, compareApplyCase } from "./apply/compare.ts";
import { randomApplyCase } from "./apply/random-cases.ts";
import { installWidgets } from "./apply/widgets.ts";
import { applyCases } from "./apply-cases.ts";
import { realVersions } from "./harness/real-binaries.ts";
import { type RealControlPlane, startRealControlPlane } from "./harness/real-control-plane.ts";
import { writeRealResult } from "./results.ts";

/** Random histories, about a tenth of a second each. */
const histories = 1500;

/** A longer report would not be read. */
const shownDifferences = 5;

let plane: RealControlPlane;
let embedded: StartedServer;
let servers: ApplyServers;

beforeAll(async () => {
  plane = await startRealControlPlane();
  embedded = await startEmbeddedServer();
  servers = { embedded, real: plane };
  await Promise.all(Object.values(servers).map(installWidgets));
});

afterAll(async () => {
  await embedded?.stop();
  await plane?.stop();
});

test("the embedded server applies and records owners as the real one does", async () => {
  const random = Array.from({ length: histories }, (_, seed) => randomApplyCase(seed));
  const cases = [...applyCases, ...random];
  const differences: ApplyDifference[] = [];
  for (const [index, applyCase] of cases.entries()) {
    const difference = await compareApplyCase(servers, applyCase, `apply-${index}`);
    if (difference !== undefined) differences.push(difference);
  }
  const requests = cases.reduce((sum, { steps }) => sum + steps.length, 0);
  report({ requests, differences: differences.length });
  expect(differences.slice(0, shownDifferences)).toEqual([]);
});

function report({ requests, differences }: { requests: number; differences: number }): void {
  const { kubernetes } = realVersions();
  process.stdout.write(
    `Server-side apply: ${applyCases.length} cases and ${histories} random histories, ` +
      `${requests} requests compared with kube-apiserver ${kubernetes}, ${differences} differences\n`,
  );
  writeRealResult({
    section: "3-apply",
    title: "Server-side apply and field ownership",
    text:
      "Cases and random histories of applies, updates and patches by several clients, on built-in " +
      "and custom kinds. Compared are the merged objects, conflicts and refusals, and " +
      "managedFields by their bytes, times aside.",
    facts: {
      "kube-apiserver": kubernetes,
      cases: applyCases.length,
      "random histories": histories,
      "requests compared": requests,
      differences,
    },
    columns: [],
    rows: [],
  });
}
