#!/usr/bin/env node
// `npm run test:real`: builds a real kube-apiserver, kube-controller-manager, kubectl and etcd, and
// other ingress controllers, and lets them judge the lab and the product, inside a network namespace of
// its own where the pods' addresses are local and nothing else can be reached.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { helmProgram } from "./helm.mjs";
import { peerBinaries } from "./peer-binaries.mjs";
import {
  buildClient,
  conformanceSuite,
  conformanceVersion,
  goVersion,
  realBinaries,
} from "./real-binaries.mjs";
import { installPackages, missingPackages } from "./setup.mjs";

const usage = `Usage: npm run test:real -- [--build-only] [--if-possible] [--write-docs] [FILE…]

Builds a real kube-apiserver, kube-controller-manager, kubectl and etcd from their Go modules
(pinned in e2e/real/go.mod), helm (scripts/helm.mjs) and the conformance specs of other projects
(about 8 minutes the first time, then kept), and runs the tests in e2e/real with them: those
whose path contains one of FILE…, or all. Contour, Envoy and Traefik (scripts/peer-binaries.mjs)
take ten more minutes: they are built, and tested, only with "peers" as FILE. HAProxy is
installed with apt-get if it is missing and that is allowed. Envoy is tested beside it
only with LOCKSTEP_ENVOY, the path of its program.

  --build-only    only build
  --if-possible   where Go, its modules or network namespaces are missing, say so and exit 0
  --write-docs    write what was compared and found to docs/fidelity.md and docs/sync.md
`;

const args = process.argv.slice(2);
const options = new Set(args.filter((one) => one.startsWith("-")));
const files = args.filter((one) => !one.startsWith("-"));
const known = ["--build-only", "--if-possible", "--write-docs", "--help", "-h"];

/** Other ingress controllers take many minutes to build, so their test runs only when it is named. */
const peersTest = "e2e/real/peers.real.test.ts";

/** `lockstep watch` reads it; without it, only its test is left out. */
const otherProxies = [
  { name: "haproxy", file: "/usr/sbin/haproxy", for: "the test of other proxies" },
];

/** As root; else with a user namespace, in which one is. */
const isolation = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
const ways = [isolation, ["--map-root-user", ...isolation]];
/** Pods of two clusters have networks of their own. */
const prepare =
  "ip link set lo up && ip route add local 10.201.0.0/16 dev lo && ip route add local 10.203.0.0/16 dev lo";

/** Go's errors without a network, or without a way to the modules. */
const unreachable = /dial tcp|no such host|connection refused|i\/o timeout|TLS handshake timeout/;

process.exitCode = main();

function main() {
  if (options.has("--help") || options.has("-h")) {
    process.stdout.write(usage);
    return 0;
  }
  const unknown = [...options].find((one) => !known.includes(one));
  if (unknown !== undefined) {
    process.stderr.write(`There is no option ${unknown}.\n\n${usage}`);
    return 2;
  }
  const { problem, version } = goVersion();
  if (problem !== undefined) return impossible(`${problem}. Install Go 1.26 or newer.`);
  const way = ways.find((flags) => works([...flags, "sh", "-c", prepare]));
  if (way === undefined && !options.has("--build-only")) {
    return impossible(
      "a network namespace cannot be made here. That needs root or user namespaces, and the " +
        "programs unshare (util-linux) and ip (iproute2).",
    );
  }
  try {
    const folder = realBinaries((line) => process.stdout.write(`${line}\n`));
    process.stdout.write(`Real programs: ${folder} (${version})\n`);
    buildClient();
    for (const suite of ["mcs", "gateway"]) {
      const variable = `LOCKSTEP_${suite.toUpperCase()}_CONFORMANCE`;
      process.env[variable] = conformanceSuite(suite, (line) => process.stdout.write(`${line}\n`));
      process.env[`${variable}_VERSION`] = conformanceVersion(suite);
    }
    process.env["LOCKSTEP_HELM"] = helmProgram((line) => process.stdout.write(`${line}\n`));
    if (files.some((file) => peersTest.includes(file))) {
      process.env["LOCKSTEP_PEERS"] = JSON.stringify(
        peerBinaries((line) => process.stdout.write(`${line}\n`)),
      );
    }
    downloadModules();
    const missing = missingPackages(existsSync, otherProxies);
    if (missing.length > 0) {
      installPackages(missing, process.env["LOCKSTEP_NO_SYSTEM"] !== "1", otherProxies);
    }
    return way === undefined || options.has("--build-only") ? 0 : runTests(way, folder);
  } catch (error) {
    if (unreachable.test(error.message)) {
      return impossible(`the Go modules cannot be fetched:\n${error.message}`);
    }
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}

function impossible(why) {
  const verdict = options.has("--if-possible") ? "skipped" : "cannot run";
  process.stderr.write(`The tests against a real control plane: ${verdict}, because ${why}\n`);
  return options.has("--if-possible") ? 0 : 1;
}

function works(unshareArgs) {
  return spawnSync("unshare", unshareArgs, { stdio: "ignore" }).status === 0;
}

/**
 * Files published by other projects that the tests read; inside the namespace there is no network.
 */
function downloadModules() {
  const list = new URL("../e2e/real/custom/published-modules.json", import.meta.url);
  const modules = Object.values(JSON.parse(readFileSync(list, "utf8")));
  const { status, stderr } = spawnSync("go", ["mod", "download", ...modules], { encoding: "utf8" });
  if (status !== 0) throw new Error(`go mod download failed:\n${stderr}`);
}

function runTests(flags, folder) {
  const results = mkdtempSync(join(tmpdir(), "lockstep-real-results-"));
  const script = `${prepare} && exec "$@"`;
  const inner = [process.execPath, "scripts/run-tests.mjs", "real", ...files];
  const { status } = spawnSync("unshare", [...flags, "sh", "-c", script, "sh", ...inner], {
    stdio: "inherit",
    env: {
      ...process.env,
      LOCKSTEP_REAL_BIN: folder,
      LOCKSTEP_KUBECTL: `${folder}/kubectl`,
      LOCKSTEP_REAL_RESULTS: results,
      ...(options.has("--write-docs") ? { LOCKSTEP_WRITE_DOCS: "1" } : {}),
    },
  });
  // Only a whole run has all the sections.
  if (status === 0 && options.has("--write-docs") && files.length === 0) {
    spawnSync(process.execPath, ["scripts/generate-fidelity.mjs", results], { stdio: "inherit" });
  }
  rmSync(results, { recursive: true, force: true });
  return status ?? 1;
}
