// The conformance suite of the Gateway API, unmodified, against one cluster and `lockstep ingress` with an
// address for each Gateway. Its tests send HTTP/1.1 and, for gRPC, HTTP/2 without TLS to port 80, where the
// proxy has one of them: so each profile is a run with other flags.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { parse } from "yaml";
import { type KubeClient, parseJson } from "../../../src/kube/client/client.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../../../src/kube/kinds/fields.ts";
import { gatewayApiOfConformance } from "../custom/published-definitions.ts";

export interface GatewayProfile {
  readonly profile: string;
  readonly ports: Readonly<Record<string, number>>;
  /** Of those that are claimed, the ones that its tests need. */
  readonly features: (name: string) => boolean;
  /** The report that is kept. */
  readonly kept: URL;
}

export const httpProfile: GatewayProfile = {
  profile: "GATEWAY-HTTP",
  ports: { "http-port": 80, "https-port": 443 },
  features: (name) => !name.startsWith("GRPCRoute"),
  kept: new URL("../../../docs/gateway-conformance.yaml", import.meta.url),
};

export const grpcProfile: GatewayProfile = {
  profile: "GATEWAY-GRPC",
  ports: { "http-port": 8_081, "grpc-port": 80, "https-port": 443 },
  // Tests of further features of Gateways have HTTPRoutes.
  features: (name) => /^(Gateway|ReferenceGrant|GRPCRoute.*)$/.test(name),
  kept: new URL("../../../docs/gateway-grpc-conformance.yaml", import.meta.url),
};

export interface GatewayCluster {
  readonly kubeconfig: string;
  /** As the administrator. */
  readonly client: KubeClient;
}

export interface GatewayResult {
  readonly report: RawRecord;
  /** Of the report: the one profile that was asked for. */
  readonly found: RawRecord;
}

const suiteMinutes = 8;
/** With the start of the ingress. */
export const suiteTimeoutMs = (suiteMinutes + 3) * 60_000;

const className = "lockstep";
const api = "/apis/gateway.networking.k8s.io/v1";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const deadlineMs = 10_000;
const waiting = { timeout: 120_000, interval: 100 };
const statusPort = 10_260;
/** More than the suite has Gateways at once. */
const poolSize = 40;
const addresses = Array.from({ length: poolSize }, (_, index) => `127.0.1.${index + 1}`);
const [reserved = ""] = addresses.slice(-1);

/** That listeners of the suite have, besides 80 and 443. */
const morePorts = [8080, 8090];

/** The file that says how to reach the maintainers: no address is invented for the report. */
const contact = "SECURITY.md";

/**
 * Runs the tests of every feature in the status of the GatewayClass that the profile has. A test that fails,
 * or a core test or one of a claimed feature that is skipped, is an error. `folder` is of the run alone.
 */
export async function passConformance(
  profile: GatewayProfile,
  cluster: GatewayCluster,
  folder: string,
): Promise<GatewayResult> {
  await installDefinitions(cluster.client);
  const ingress = new Ingress(cluster, profile, folder);
  try {
    await ingress.ready();
    const claimed = await claimedFeatures(cluster.client);
    const features = claimed.filter(profile.features);
    const { report, output } = await runSuite({ profile, cluster, folder, features });
    const profiles = listAt(report, "profiles").filter(isRecord);
    const failures = profiles.flatMap((one) => [
      ...failuresOf(one, "core"),
      ...failuresOf(one, "extended"),
    ]);
    const log = failures.length > 0 ? `${output.slice(-20_000)}\n${ingress.log.slice(-5_000)}` : "";
    expect({ failures, log }).toEqual({ failures: [], log: "" });
    const [found = {}] = profiles;
    expect(profiles.length).toBe(1);
    const tested = listAt(recordAt(found, "extended"), "supportedFeatures").map(String);
    expect(tested.filter((one) => !claimed.includes(one))).toEqual([]);
    expect(numbersOf(found, "core")).toMatchObject({ Failed: 0, Skipped: 0 });
    expect(numbersOf(found, "core")["Passed"]).toBeGreaterThan(0);
    return { report, found };
  } finally {
    await ingress.stop();
  }
}

/** As `comparable`. */
export function keptReport({ kept }: GatewayProfile): RawRecord {
  const before: unknown = parse(readFileSync(kept, "utf8"));
  return isRecord(before) ? comparable(before) : {};
}

/** Without the parts that differ from run to run. */
export function comparable(report: RawRecord): RawRecord {
  const { version: _, ...implementation } = recordAt(report, "implementation");
  return { ...report, date: "", implementation };
}

function failuresOf(profile: RawRecord, level: "core" | "extended"): readonly string[] {
  const found = recordAt(profile, level);
  const skipped = listAt(found, "skippedTests").map((name) => `${String(name)} was skipped`);
  return [...listAt(found, "failedTests").map(String), ...skipped];
}

export function numbersOf(profile: RawRecord, level: "core" | "extended"): RawRecord {
  return recordAt(recordAt(profile, level), "statistics");
}

async function runSuite(of: {
  readonly profile: GatewayProfile;
  readonly cluster: GatewayCluster;
  readonly folder: string;
  readonly features: readonly string[];
}): Promise<{ readonly report: RawRecord; readonly output: string }> {
  const { profile, cluster, folder, features } = of;
  const path = join(folder, "report.yaml");
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  const args = [
    "-test.run=^TestConformance$",
    "-test.v",
    `-test.timeout=${suiteMinutes}m`,
    `-gateway-class=${className}`,
    `-conformance-profiles=${profile.profile}`,
    `-supported-features=${features.join(",")}`,
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
    env: { ...process.env, KUBECONFIG: cluster.kubeconfig },
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

/** As the status of the GatewayClass has them, once it is written. */
async function claimedFeatures(client: KubeClient): Promise<readonly string[]> {
  const path = `${api}/gatewayclasses/${className}`;
  return await vi.waitFor(async () => {
    const answer = parseJson(
      await client.request({ verb: "get", method: "GET", path, deadlineMs }),
    );
    const status = isRecord(answer) ? recordAt(answer, "status") : {};
    const features = listAt(status, "supportedFeatures").filter(isRecord);
    expect(features.length).toBeGreaterThan(0);
    return features.map(({ name }) => String(name));
  }, waiting);
}

/** The namespace of these tests has the ports for itself. */
class Ingress {
  log = "";
  readonly #child: ChildProcess;

  constructor(cluster: GatewayCluster, { ports }: GatewayProfile, folder: string) {
    const options = {
      kubeconfig: cluster.kubeconfig,
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
    this.#child = spawn(process.execPath, ["bin/lockstep.mjs", "ingress", ...args], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.log += chunk.toString("utf8");
    });
  }

  async ready(): Promise<void> {
    await vi.waitFor(async () => {
      const answer = await fetch(`http://127.0.0.1:${statusPort}/readyz`).catch(String);
      const status = typeof answer === "string" ? answer : answer.status;
      expect({ status, log: status === 200 ? "" : this.log.slice(-5_000) }).toEqual({
        status: 200,
        log: "",
      });
    }, waiting);
  }

  async stop(): Promise<void> {
    const closed = once(this.#child, "close");
    if (this.#child.exitCode === null && this.#child.kill("SIGINT")) await closed;
  }
}

export function fromEnvironment(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: npm run test:real runs this test`);
  return value;
}
