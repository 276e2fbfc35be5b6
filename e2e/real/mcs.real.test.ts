// The conformance specs of the Multi-Cluster Services API, unmodified, against two labs that import
// from each other by `lockstep sync`. Pods of a lab run no programs, so that specs which run a command
// in a pod are left out. docs/sync.md lists all of them.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { withPart } from "../../scripts/docs/marked-part.ts";
import { nodeEnvironment } from "../../src/environment/node/node-environment.ts";
import { type KubeClient, parseJson } from "../../src/kube/client/client.ts";
import { isRecord, listAt } from "../../src/kube/kinds/fields.ts";
import { freePort } from "../../src/lab/free-port.ts";
import { clientOfLab, startLabProcess, stopAllLabs } from "../lab-process.ts";
import { multiClusterServicesApi } from "./custom/published-definitions.ts";

const clusters = ["lab-1", "lab-2"] as const;
const document = new URL("../../docs/sync.md", import.meta.url);
const part = "conformance: mcs";
const deadlineMs = 10_000;
const waiting = { timeout: 120_000, interval: 100 };

/** Why a spec is left out: by its label, or by the only spec that has none for it. */
const leftOut = [
  {
    label: "DNS",
    reason: "runs `nslookup` in a pod, for a DNS server of the zone `clusterset.local`",
  },
  { label: "Connectivity", reason: "sends requests from a pod to a clusterset IP" },
  {
    spec: "Connectivity to a service that is not exported should be inaccessible",
    reason: "sends requests from a pod; where none can be sent it passes, whatever happens",
  },
] as const;

interface Spec {
  readonly name: string;
  readonly labels: readonly string[];
  readonly state: string;
  readonly failure: string;
}

let folder: string;
/** Of both. */
let syncLog = "";
const processes: ChildProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "lockstep-mcs-"));
  const kubeconfig = join(folder, "kubeconfig");
  const lab = await startLabProcess("--clusters", "2", "--kubeconfig", kubeconfig);
  for (const context of clusters) await installDefinitions(await clientOfLab(lab, context));
  // A definition that is installed later would be found within half a minute.
  for (const context of clusters) await startSync(context, kubeconfig);
});

afterAll(async () => {
  for (const child of processes) {
    const closed = once(child, "close");
    if (child.exitCode === null && child.kill("SIGINT")) await closed;
  }
  await stopAllLabs();
  rmSync(folder, { recursive: true, force: true });
});

it("the specs that run no command in a pod pass, and docs/sync.md lists each", async () => {
  const specs = await runSpecs(join(folder, "kubeconfig"));
  const failed = specs.filter(({ state }) => state !== "passed" && state !== "skipped");
  expect({ failed, syncLog: failed.length > 0 ? syncLog : "" }).toEqual({
    failed: [],
    syncLog: "",
  });
  const shown = specs.map((spec) => ({ spec, reason: reasonOf(spec) }));
  // What the filters skip has to be what the list gives a reason for, and nothing else.
  for (const { spec, reason } of shown) {
    expect({ name: spec.name, state: spec.state }).toEqual({
      name: spec.name,
      state: reason === undefined ? "passed" : "skipped",
    });
  }
  const text = documentText(shown);
  const before = readFileSync(document, "utf8");
  const after = withPart(before, part, text);
  if (process.env["LOCKSTEP_WRITE_DOCS"] === "1" && after !== undefined) {
    writeFileSync(document, after);
    return;
  }
  expect(after, "npm run test:real -- --write-docs mcs").toBe(before);
}, 900_000);

async function runSpecs(kubeconfig: string): Promise<readonly Spec[]> {
  const report = join(folder, "report.json");
  const labels = leftOut.flatMap((one) => ("label" in one ? [`!${one.label}`] : []));
  const skipped = leftOut.flatMap((one) => ("spec" in one ? [`--ginkgo.skip=${one.spec}`] : []));
  const child = spawn(
    fromEnvironment("LOCKSTEP_MCS_CONFORMANCE"),
    [
      `--kubeconfig=${kubeconfig}`,
      `--contexts=${clusters.join(",")}`,
      `--ginkgo.label-filter=${labels.join(" && ")}`,
      ...skipped,
      `--ginkgo.json-report=${report}`,
      "--ginkgo.no-color",
    ],
    // It writes files of its own beside.
    { cwd: folder, stdio: ["ignore", "pipe", "pipe"] },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
  }
  await once(child, "close");
  const suites: unknown = JSON.parse(readFileSync(report, "utf8"));
  const [suite] = Array.isArray(suites) ? suites : [];
  const specs = isRecord(suite) ? listAt(suite, "SpecReports").filter(isRecord) : [];
  const read = specs.filter((one) => one["LeafNodeType"] === "It").map(specOf);
  if (read.length === 0) throw new Error(`no spec ran:\n${output}`);
  return read;
}

function specOf(raw: Readonly<Record<string, unknown>>): Spec {
  const texts = [...listAt(raw, "ContainerHierarchyTexts"), raw["LeafNodeText"]];
  const labels = [listAt(raw, "ContainerHierarchyLabels").flat(), listAt(raw, "LeafNodeLabels")];
  const failure = raw["Failure"];
  return {
    name: texts.filter((text) => text !== "").join(" "),
    labels: labels.flat().map(String),
    state: String(raw["State"]),
    failure: isRecord(failure) ? String(failure["Message"]) : "",
  };
}

function reasonOf({ name, labels }: Spec): string | undefined {
  return leftOut.find((one) =>
    "label" in one ? labels.includes(one.label) : name.includes(one.spec),
  )?.reason;
}

function documentText(shown: readonly { spec: Spec; reason: string | undefined }[]): string {
  const passed = shown.filter(({ reason }) => reason === undefined).length;
  const rows = shown.map(({ spec: { name, labels }, reason }) => {
    const kind = labels.includes("Required") ? "required" : "optional";
    // Else a reader of Markdown would take <service> for a tag.
    return `| ${name.replace(/[|<]/g, "\\$&")} | ${kind} | ${reason ?? "passes"} |`;
  });
  return [
    `Version ${fromEnvironment("LOCKSTEP_MCS_CONFORMANCE_VERSION")} of the specs: ` +
      `${passed} of ${shown.length} pass, ${shown.length - passed} are left out.`,
    "",
    "| spec | kind | result, or why it is left out |",
    "| --- | --- | --- |",
    ...rows.sort(),
    "",
  ].join("\n");
}

async function installDefinitions(client: KubeClient): Promise<void> {
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  for (const { object } of multiClusterServicesApi().definitions) {
    await client.request({ verb: "create", method: "POST", path, body: object, deadlineMs });
  }
  const names = ["serviceexports", "serviceimports"];
  await vi.waitFor(async () => expect(await served(client)).toEqual(names), waiting);
}

async function served(client: KubeClient): Promise<readonly string[]> {
  const path = "/apis/multicluster.x-k8s.io/v1beta1";
  const request = { verb: "get", method: "GET", path, deadlineMs } as const;
  const answer = await client.request(request).catch(() => undefined);
  const list = answer === undefined ? undefined : parseJson(answer);
  const resources = isRecord(list) ? listAt(list, "resources").filter(isRecord) : [];
  const names = resources.map(({ name }) => String(name));
  return names.filter((name) => !name.includes("/")).sort();
}

/** Resolves when it sees both clusters. */
async function startSync(target: string, kubeconfig: string): Promise<void> {
  const file = join(folder, `${target}.yaml`);
  const statusPort = await freePort(nodeEnvironment({ log: { level: "error" } }), "127.0.0.1");
  const form = { exports: true, imports: "derived", statusPort };
  const config = { kubeconfig, sources: clusters, target, ...form };
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(config));
  const args = ["bin/lockstep.mjs", "sync", "--config", file];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
  child.stderr.on("data", (chunk: Buffer) => {
    syncLog += chunk.toString("utf8");
  });
  processes.push(child);
  await vi.waitFor(async () => {
    const { status } = await fetch(`http://127.0.0.1:${statusPort}/readyz`);
    expect(status).toBe(200);
  }, waiting);
}

function fromEnvironment(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: npm run test:real runs this test`);
  return value;
}
