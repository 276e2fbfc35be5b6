// The conformance suite of the Gateway API, unmodified, against a lab and `lockstep ingress` with an
// address for each Gateway. Its tests send HTTP/1.1 and, for gRPC, HTTP/2 without TLS to port 80, where the
// proxy has one of them: so each profile is a run with other flags. The reports are kept in docs/, and
// docs/gateway.md says why a feature is not claimed.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { parse, stringify } from "yaml";
import { withPart } from "../../scripts/docs/marked-part.ts";
import { supportedFeatures } from "../../src/decide/status/gateway-status.ts";
import { type KubeClient, parseJson } from "../../src/kube/client/client.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../../src/kube/kinds/fields.ts";
import { clientOfLab, startLabProcess, stopAllLabs } from "../lab-process.ts";
import { gatewayApiOfConformance } from "./custom/published-definitions.ts";

const className = "lockstep";

interface ProfileRun {
  readonly profile: string;
  readonly ports: Readonly<Record<string, number>>;
  /** Of those that are claimed, the ones that its tests need. */
  readonly features: (name: string) => boolean;
  readonly part: string;
  readonly report: URL;
}

const runs: readonly ProfileRun[] = [
  {
    profile: "GATEWAY-HTTP",
    ports: { "http-port": 80, "https-port": 443 },
    features: (name) => !name.startsWith("GRPCRoute"),
    part: "conformance: gateway",
    report: new URL("../../docs/gateway-conformance.yaml", import.meta.url),
  },
  {
    profile: "GATEWAY-GRPC",
    ports: { "http-port": 8_081, "grpc-port": 80, "https-port": 443 },
    // Tests of further features of Gateways have HTTPRoutes.
    features: (name) => /^(Gateway|ReferenceGrant|GRPCRoute.*)$/.test(name),
    part: "conformance: gateway-grpc",
    report: new URL("../../docs/gateway-grpc-conformance.yaml", import.meta.url),
  },
];
const api = "/apis/gateway.networking.k8s.io/v1";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const document = new URL("../../docs/gateway.md", import.meta.url);

const deadlineMs = 10_000;
const waiting = { timeout: 120_000, interval: 100 };
const suiteMinutes = 8;
const statusPort = 10_260;
/** More than the suite has Gateways at once. */
const poolSize = 40;
const addresses = Array.from({ length: poolSize }, (_, index) => `127.0.1.${index + 1}`);
const [reserved = ""] = addresses.slice(-1);

/** That listeners of the suite have, besides 80 and 443. */
const morePorts = [8080, 8090];

/** The file that says how to reach the maintainers: no address is invented for the report. */
const contact = "SECURITY.md";

/** Why an extended feature is not claimed. */
const notClaimed: Readonly<Record<string, string>> = {
  BackendTLSPolicy: "a CA that is data cannot verify endpoints: they get nothing",
  BackendTLSPolicySANValidation: "needs BackendTLSPolicy",
  GatewayBackendClientCertificate: "needs BackendTLSPolicy",
  GatewayFrontendClientCertificateValidation: "client certificates are not supported",
  GatewayFrontendClientCertificateValidationInsecureFallback:
    "client certificates are not supported",
  GatewayInfrastructure: "a Gateway creates no objects that could have its labels",
  HTTPRouteBackendProtocolH2C: "nginx 1.22 has no HTTP/2 to endpoints, except for gRPC",
  HTTPRouteBackendProtocolWebSocket: "the pods of the lab do not speak it; the proxy does",
  HTTPRouteRetryBackendTimeout: "this version of the suite has no test of it",
  HTTPRouteRetryConnectionError: "this version of the suite has no test of it",
  ListenerSet: "not read",
};

let folder: string;
let ingress: ChildProcess | undefined;
let ingressLog = "";

describe.each(runs)("$profile", (run) => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "lockstep-gateway-"));
    const kubeconfig = join(folder, "kubeconfig");
    const lab = await startLabProcess("--kubeconfig", kubeconfig);
    await installDefinitions(await clientOfLab(lab));
    await startIngress(kubeconfig, run.ports);
  });

  afterAll(async () => {
    if (ingress !== undefined) {
      const closed = once(ingress, "close");
      if (ingress.exitCode === null && ingress.kill("SIGINT")) await closed;
    }
    await stopAllLabs();
    rmSync(folder, { recursive: true, force: true });
  });

  it(
    "passes every core test and the tests of every claimed feature, and docs/ has its report",
    async () => {
      const { report, output } = await runSuite(run);
      const found = listAt(report, "profiles").filter(isRecord);
      const failures = found.flatMap((profile) => [
        ...failuresOf(profile, "core"),
        ...failuresOf(profile, "extended"),
      ]);
      const log =
        failures.length > 0 ? `${output.slice(-20_000)}\n${ingressLog.slice(-5_000)}` : "";
      expect({ failures, log }).toEqual({ failures: [], log: "" });
      expect(found.map((profile) => profile["name"])).toEqual([run.profile]);
      for (const profile of found) {
        const extended = recordAt(profile, "extended");
        const claimed = listAt(extended, "supportedFeatures").map(String);
        expect(claimed.filter((one) => !supportedFeatures.includes(one))).toEqual([]);
        expect(numbersOf(profile, "core")).toMatchObject({ Failed: 0, Skipped: 0 });
        expect(numbersOf(profile, "core")["Passed"]).toBeGreaterThan(0);
      }
      keep(run, report, found);
    },
    (suiteMinutes + 1) * 60_000,
  );
});

/** Compared with what is in docs/, or written there. */
function keep(
  { profile, part, report: keptReport }: ProfileRun,
  report: RawRecord,
  found: readonly RawRecord[],
): void {
  const counts = countLines(found);
  const text = profile === "GATEWAY-HTTP" ? documentText(counts, found) : counts.trimStart();
  const before = readFileSync(document, "utf8");
  const after = withPart(before, part, text);
  const yaml = stringify(report);
  if (process.env["LOCKSTEP_WRITE_DOCS"] === "1" && after !== undefined) {
    writeFileSync(document, after);
    writeFileSync(keptReport, yaml);
    return;
  }
  expect(after, "npm run test:real -- --write-docs gateway-conformance").toBe(before);
  const kept: unknown = parse(readFileSync(keptReport, "utf8"));
  expect(isRecord(kept) ? comparable(kept) : kept).toEqual(comparable(report));
}

/** Without what is another in each run. */
function comparable(report: RawRecord): RawRecord {
  const { version: _, ...implementation } = recordAt(report, "implementation");
  return { ...report, date: "", implementation };
}

function failuresOf(profile: RawRecord, level: "core" | "extended"): readonly string[] {
  const found = recordAt(profile, level);
  const skipped = listAt(found, "skippedTests").map((name) => `${String(name)} was skipped`);
  return [...listAt(found, "failedTests").map(String), ...skipped];
}

function numbersOf(profile: RawRecord, level: "core" | "extended"): RawRecord {
  return recordAt(recordAt(profile, level), "statistics");
}

/** A list, with an empty line before it. */
function countLines(found: readonly RawRecord[]): string {
  const lines = found.map((profile) => {
    const passed = (level: "core" | "extended") => Number(numbersOf(profile, level)["Passed"] ?? 0);
    const [core, extended] = [passed("core"), passed("extended")];
    return `- ${String(profile["name"])}: ${core} core tests and ${extended} tests of extended features pass.`;
  });
  return ["", ...lines, ""].join("\n");
}

function documentText(counts: string, found: readonly RawRecord[]): string {
  const features = found.flatMap((profile) =>
    listAt(recordAt(profile, "extended"), "unsupportedFeatures").map(String),
  );
  const rows = [...new Set(features)].sort().map((feature) => {
    const reason = notClaimed[feature];
    if (reason === undefined) throw new Error(`no reason is given why ${feature} is not claimed`);
    return `| ${feature} | ${reason} |`;
  });
  return [
    `Version ${fromEnvironment("LOCKSTEP_GATEWAY_CONFORMANCE_VERSION")} of the suite:`,
    counts,
    "No test of a claimed feature is skipped. The suite skips the tests of these features:",
    "",
    "| feature that is not claimed | reason |",
    "| --- | --- |",
    ...rows,
    "",
  ].join("\n");
}

async function runSuite({
  profile,
  features,
}: ProfileRun): Promise<{ readonly report: RawRecord; readonly output: string }> {
  const path = join(folder, "report.yaml");
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  const args = [
    "-test.run=^TestConformance$",
    "-test.v",
    `-test.timeout=${suiteMinutes}m`,
    `-gateway-class=${className}`,
    `-conformance-profiles=${profile}`,
    `-supported-features=${supportedFeatures.filter(features).join(",")}`,
    `-usable-address=${reserved}`,
    "-unusable-address=127.0.2.1",
    "-organization=Lockstep",
    "-project=lockstep",
    "-url=README.md",
    `-contact=${contact}`,
    `-version=${version}`,
    `-report-output=${path}`,
  ];
  const child = spawn(fromEnvironment("LOCKSTEP_GATEWAY_CONFORMANCE"), args, {
    cwd: folder,
    env: { ...process.env, KUBECONFIG: join(folder, "kubeconfig") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
  }
  await once(child, "close");
  const report: unknown = parse(readFileSync(path, "utf8"));
  if (!isRecord(report)) throw new Error(`the suite wrote no report:\n${output.slice(-20_000)}`);
  return { report, output };
}

async function installDefinitions(client: KubeClient): Promise<void> {
  const create = (path: string, body: object) =>
    client.request({ verb: "create", method: "POST", path, body, deadlineMs });
  for (const { object } of gatewayApiOfConformance()) await create(definitions, object);
  await vi.waitFor(async () => {
    const answer = parseJson(
      await client.request({ verb: "get", method: "GET", path: api, deadlineMs }),
    );
    const resources = isRecord(answer) ? listAt(answer, "resources").filter(isRecord) : [];
    expect(resources.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["gatewayclasses", "gateways", "httproutes", "grpcroutes"]),
    );
  }, waiting);
  await create(`${api}/gatewayclasses`, {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "GatewayClass",
    metadata: { name: className },
    spec: { controllerName: "lockstep.dev/gateway" },
  });
}

/** Resolves when it serves. The namespace of these tests has these ports for itself. */
async function startIngress(
  kubeconfig: string,
  ports: Readonly<Record<string, number>>,
): Promise<void> {
  const options = {
    kubeconfig,
    ...ports,
    "status-port": statusPort,
    workers: 1,
    prefix: join(folder, "nginx"),
    "publish-address": "127.0.0.1",
  };
  const args = [
    ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]),
    ...addresses.flatMap((address) => ["--gateway-address", address]),
    ...morePorts.flatMap((port) => ["--gateway-port", String(port)]),
  ];
  ingress = spawn(process.execPath, ["bin/lockstep.mjs", "ingress", ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  ingress.stderr?.on("data", (chunk: Buffer) => {
    ingressLog += chunk.toString("utf8");
  });
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
