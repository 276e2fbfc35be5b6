// `lockstep watch` as a person runs it, beside a lab in another process: its output as pods are
// replaced, its metrics and its history, and its end.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { type KubeClient, parseJson } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { kubeconfigAccess } from "../src/kube/credentials/credentials-kubeconfig.ts";
import { isRecord, listAt, recordAt } from "../src/kube/kinds/fields.ts";
import { createShop, releaseShop, shopReplicas } from "../src/lab/shop.ts";
import type { Journeys, State, TruthTable } from "../src/server/api.ts";
import type { JourneyRecord } from "../src/timeline/journey-record.ts";
import { PageClient } from "../tests/page/page-client.ts";
import { type LabProcess, startLabProcess, stopAllLabs } from "./lab-process.ts";

const folder = mkdtempSync(join(tmpdir(), "lockstep-e2e-watch-"));
const deadAddress = "10.99.0.1";
const running = new Set<ChildProcess>();
let lab: LabProcess;
let client: KubeClient;

beforeAll(async () => {
  lab = await startLabProcess("--clusters", "2");
  const environment = nodeEnvironment({ log: { level: "error" } });
  const { kubeconfig: path } = lab;
  const [cluster] = await kubeconfigAccess({ ...environment, path, contexts: ["lab-1"] });
  if (cluster === undefined) throw new Error("the lab has no context lab-1");
  client = new HttpKubeClient({ ...environment, cluster, userAgent: "e2e" });
  await createShop(client, { strategy: { rollingUpdate: { maxSurge: "100%" } } });
  while ((await publishedAddresses()) < shopReplicas) await soon();
});

afterAll(async () => {
  for (const child of running) child.kill("SIGKILL");
  await stopAllLabs();
  rmSync(folder, { recursive: true, force: true });
});

/** The output of a running command. */
class LockstepProcess {
  readonly child: ChildProcess;
  output = "";
  errorOutput = "";

  constructor(command: "watch" | "serve", ...args: readonly string[]) {
    const line = ["bin/lockstep.mjs", command, "--kubeconfig", lab.kubeconfig, ...args];
    this.child = spawn(process.execPath, line, { stdio: ["ignore", "pipe", "pipe"] });
    running.add(this.child);
    this.child.stdout?.on("data", (chunk: Buffer) => {
      this.output += chunk.toString("utf8");
    });
    this.child.stderr?.on("data", (chunk: Buffer) => {
      this.errorOutput += chunk.toString("utf8");
    });
  }

  async until(isSeen: (process: LockstepProcess) => boolean): Promise<void> {
    while (!isSeen(this)) {
      if (this.child.exitCode !== null) throw new Error(`it has ended:\n${this.errorOutput}`);
      await soon();
    }
  }

  async end(signal: NodeJS.Signals = "SIGINT"): Promise<number | null> {
    const closed = once(this.child, "close");
    this.child.kill(signal);
    await closed;
    running.delete(this.child);
    return this.child.exitCode;
  }
}

interface JsonLine {
  readonly type: string;
  readonly journey?: JourneyRecord;
  readonly clusters?: readonly { readonly cluster: string; readonly state: string }[];
  readonly changes?: number;
}

it("shows every pod that joins and leaves in a release, once, and ends with a summary", async () => {
  const history = join(folder, "history.db");
  const contexts = ["--context", "lab-1", "--context", "lab-2"];
  const more = ["--history", history, "--metrics-port", "0"];
  const watch = new LockstepProcess("watch", "--json", ...contexts, ...more);
  const lines = () =>
    watch.output
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as JsonLine);
  await watch.until(({ errorOutput }) => errorOutput.includes("Metrics: "));
  const url = /Metrics: (\S+)/.exec(watch.errorOutput)?.[1] ?? "";
  await ready(url);
  await releaseShop(client, "first");
  const over = () => lines().flatMap((line) => (line.type === "over" ? (line.journey ?? []) : []));
  await watch.until(() => over().length >= 2 * shopReplicas);
  const metrics = await (await fetch(url)).text();
  const counted = metrics
    .split("\n")
    .filter((line) => line.startsWith("lockstep_journeys_total{") && !line.endsWith(" 0"));
  const total = (direction: string) =>
    `lockstep_journeys_total{cluster="lab-1",direction="${direction}",outcome="complete"} ` +
    `${shopReplicas}`;
  expect(counted.sort()).toEqual([total("join"), total("leave")]);
  expect(await watch.end()).toBe(0);
  const journeys = over();
  expect(new Set(journeys.map(({ id }) => id)).size).toBe(journeys.length);
  const printed = journeys.map(({ cluster, service, direction, outcome, hops }) =>
    [cluster, service, direction, outcome, ...hops.map(({ hop, state }) => `${hop} ${state}`)].join(
      " ",
    ),
  );
  const change = (direction: string) =>
    `lab-1 default/shop ${direction} complete pod shown published shown`;
  expect(printed.sort()).toEqual([
    ...Array<string>(shopReplicas).fill(change("join")),
    ...Array<string>(shopReplicas).fill(change("leave")),
  ]);
  const summary = lines().at(-1);
  expect(summary?.type).toBe("summary");
  expect(summary?.changes).toBe(2 * shopReplicas);
  expect(summary?.clusters?.map(({ cluster, state }) => `${cluster} ${state}`)).toEqual([
    "lab-1 watching",
    "lab-2 watching",
  ]);
  expect(statSync(history).size).toBeGreaterThan(0);
});

it("goes on after a restart with a change that it had seen in flight", async () => {
  await publishDeadAddress();
  const path = join(folder, "restarted.db");
  const first = await watchInFlight(path);
  const second = await watchInFlight(path);
  expect(first).toHaveLength(1);
  expect(second).toEqual(
    first.map(({ originMs, ...record }) => ({ ...record, originMs: expect.closeTo(originMs, 0) })),
  );
});

/** Watches until the dead address is in flight, ends, and returns what the history has of it. */
async function watchInFlight(history: string): Promise<readonly JourneyRecord[]> {
  const watch = new LockstepProcess("watch", "--history", history, "--metrics-port", "0");
  await watch.until(({ errorOutput }) => errorOutput.includes("Metrics: "));
  const url = /Metrics: (\S+)/.exec(watch.errorOutput)?.[1] ?? "";
  const waiting =
    /^lockstep_journey_oldest_pending_seconds\{.*hop="published",direction="leave"\} (?!0$)/m;
  while (!waiting.test(await (await fetch(url)).text())) await soon();
  expect(await watch.end("SIGTERM")).toBe(0);
  const kept = execFileSync(
    process.execPath,
    ["bin/lockstep.mjs", "journeys", "--history", history, "--json"],
    { encoding: "utf8" },
  );
  return kept
    .split("\n")
    .filter((line) => line.includes(deadAddress))
    .map((line) => JSON.parse(line) as JourneyRecord);
}

/** A slice that another controller than the lab's manages, with the address of a pod that never was. */
async function publishDeadAddress(): Promise<void> {
  const namespace = "/namespaces/default";
  const create = (path: string, body: object) =>
    client.request({ verb: "create", method: "POST", path, body });
  await create(`/api/v1${namespace}/services`, {
    metadata: { name: "stale" },
    spec: { selector: { app: "stale" }, ports: [{ port: 80, targetPort: 8080 }] },
  });
  const labels = {
    "kubernetes.io/service-name": "stale",
    "endpointslice.kubernetes.io/managed-by": "e2e",
  };
  const targetRef = { kind: "Pod", namespace: "default", name: "gone", uid: "gone" };
  await create(`/apis/discovery.k8s.io/v1${namespace}/endpointslices`, {
    metadata: { name: "stale-e2e", labels },
    addressType: "IPv4",
    ports: [{ name: "", port: 8080 }],
    endpoints: [{ addresses: [deadAddress], conditions: { ready: true }, targetRef }],
  });
}

it("ends quietly when its reader closes the pipe", async () => {
  const watch = new LockstepProcess("watch", "--context", "lab-1");
  const closed = once(watch.child, "exit");
  await watch.until(({ errorOutput }) => errorOutput.includes("lab-1: watching"));
  watch.child.stdout?.destroy();
  await releaseShop(client, "second");
  expect((await closed)[0]).toBe(0);
  running.delete(watch.child);
});

it("lockstep serve shows the same as a page, with the changes of an earlier run", async () => {
  const { network } = nodeEnvironment({ log: { level: "error" } });
  const flags = ["--context", "lab-1", "--listen", "127.0.0.1:0", "--history"];
  const history = join(folder, "page.db");
  const start = async (): Promise<{ serve: LockstepProcess; client: PageClient }> => {
    const serve = new LockstepProcess("serve", ...flags, history);
    await serve.until(({ output }) => /^Page: \S+$/m.test(output));
    const address = /^Page: (\S+)\/$/m.exec(serve.output)?.[1] ?? "";
    return { serve, client: new PageClient(network, address) };
  };
  const first = await start();
  const events = await first.client.open();
  await events.until(({ event, data }) => event === "state" && isWatching(data as State));
  await releaseShop(client, "on-the-page");
  const path = "/api/v1/journeys?service=default/shop&outcome=complete";
  let seen = await first.client.get<Journeys>(path);
  while (seen.journeys.length < 2 * shopReplicas) {
    await events.until(({ event }) => event === "state");
    seen = await first.client.get<Journeys>(path);
  }
  const table = await first.client.get<TruthTable>("/api/v1/services/default/shop");
  expect(table.rows.map(({ isDisputed }) => isDisputed)).not.toContain(true);
  events.close();
  expect(await first.serve.end()).toBe(0);
  const second = await start();
  const again = await second.client.get<Journeys>(path);
  const known = new Set(again.journeys.map(({ id }) => id));
  expect(seen.journeys.filter(({ id }) => !known.has(id))).toEqual([]);
  expect(await second.serve.end()).toBe(0);
});

function isWatching({ clusters }: State): boolean {
  return clusters.length === 1 && clusters.every(({ state }) => state === "watching");
}

async function ready(metricsUrl: string): Promise<void> {
  const url = metricsUrl.replace(/metrics$/, "readyz");
  // A cluster that is not watched yet is named below it.
  while ((await (await fetch(url)).text()) !== "ok\n") await soon();
}

/** Of the shop alone: beside it the namespace has the slice of the API server. */
async function publishedAddresses(): Promise<number> {
  const selector = encodeURIComponent("kubernetes.io/service-name=shop");
  const path = `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=${selector}`;
  const slices = parseJson(await client.request({ verb: "list", method: "GET", path }));
  const endpoints = (isRecord(slices) ? listAt(slices, "items") : [])
    .filter(isRecord)
    .flatMap((slice) => listAt(slice, "endpoints").filter(isRecord));
  return endpoints.filter((one) => recordAt(one, "conditions")["ready"] === true).length;
}

function soon(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50));
}
