// The conformance suite of the Gateway API, one profile after the other, against a lab. The reports are kept
// in docs/, and docs/gateway.md says why a feature is not claimed.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { stringify } from "yaml";
import { withPart } from "../../scripts/docs/marked-part.ts";
import { listAt, type RawRecord, recordAt } from "../../src/kube/kinds/fields.ts";
import { clientOfLab, startLabProcess, stopAllLabs } from "../lab-process.ts";
import {
  comparable,
  fromEnvironment,
  type GatewayResult,
  grpcProfile,
  httpProfile,
  keptReport,
  numbersOf,
  passConformance,
  suiteTimeoutMs,
} from "./harness/gateway-suite.ts";

const runs = [
  { ...httpProfile, part: "conformance: gateway" },
  { ...grpcProfile, part: "conformance: gateway-grpc" },
];
const document = new URL("../../docs/gateway.md", import.meta.url);

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
  HTTPRouteRetryBackendTimeout: "this version of the suite has no test of it",
  HTTPRouteRetryConnectionError: "this version of the suite has no test of it",
  ListenerSet: "not read",
};

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lockstep-gateway-"));
});

afterEach(async () => {
  await stopAllLabs();
  rmSync(folder, { recursive: true, force: true });
});

it.each(runs)(
  "$profile: every core test and the tests of every claimed feature pass, and docs/ has its report",
  async (run) => {
    const kubeconfig = join(folder, "kubeconfig");
    const lab = await startLabProcess("--kubeconfig", kubeconfig);
    const client = await clientOfLab(lab);
    const result = await passConformance(run, { kubeconfig, client }, folder);
    expect(result.found).toMatchObject({ name: run.profile });
    keep(run, result);
  },
  suiteTimeoutMs,
);

/** Compared with what is in docs/, or written there. */
function keep(run: (typeof runs)[number], { report, found }: GatewayResult): void {
  const { profile, part, kept } = run;
  const counts = countLine(found);
  const text = profile === httpProfile.profile ? documentText(counts, found) : `${counts}\n`;
  const before = readFileSync(document, "utf8");
  const after = withPart(before, part, text);
  if (process.env["LOCKSTEP_WRITE_DOCS"] === "1" && after !== undefined) {
    writeFileSync(document, after);
    writeFileSync(kept, stringify(report));
    return;
  }
  expect(after, "npm run test:real -- --write-docs gateway-conformance").toBe(before);
  expect(comparable(report)).toEqual(keptReport(run));
}

function countLine(found: RawRecord): string {
  const passed = (level: "core" | "extended") => Number(numbersOf(found, level)["Passed"] ?? 0);
  const [core, extended] = [passed("core"), passed("extended")];
  return `- ${String(found["name"])}: ${core} core tests and ${extended} tests of extended features pass.`;
}

function documentText(counts: string, found: RawRecord): string {
  const features = listAt(recordAt(found, "extended"), "unsupportedFeatures").map(String);
  const rows = features.sort().map((feature) => {
    const reason = notClaimed[feature];
    if (reason === undefined) throw new Error(`no reason is given why ${feature} is not claimed`);
    return `| ${feature} | ${reason} |`;
  });
  return [
    `Version ${fromEnvironment("LOCKSTEP_GATEWAY_CONFORMANCE_VERSION")} of the suite:`,
    "",
    counts,
    "",
    "No test of a claimed feature is skipped. The suite skips the tests of these features:",
    "",
    "| feature that is not claimed | reason |",
    "| --- | --- |",
    ...rows,
    "",
  ].join("\n");
}
