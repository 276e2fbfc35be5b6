// Builds the real Kubernetes programs and etcd from the Go modules that e2e/real/go.mod pins, once:
// they are kept in the user's cache folder under a name made of that pin and the Go version.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { devNull, homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const moduleFolder = join(dirname(dirname(fileURLToPath(import.meta.url))), "e2e", "real");

/** Conformance suites of other projects need other modules than those programs. */
const suites = {
  mcs: {
    title: "the conformance specs of the Multi-Cluster Services API",
    package: "sigs.k8s.io/mcs-api/conformance",
  },
  gateway: {
    title: "the conformance suite of the Gateway API",
    package: "sigs.k8s.io/gateway-api/conformance",
  },
};

/** Package to build → what the program is called. */
const programs = {
  "go.etcd.io/etcd/server/v3": "etcd",
  "k8s.io/kubernetes/cmd/kube-apiserver": "kube-apiserver",
  "k8s.io/kubernetes/cmd/kube-controller-manager": "kube-controller-manager",
  "k8s.io/kubernetes/cmd/kubectl": "kubectl",
};

/** The output of `go version`, or why the programs cannot be built here. */
export function goVersion() {
  const answer = spawnSync("go", ["version"], { cwd: moduleFolder, encoding: "utf8" });
  if (answer.error !== undefined) return { problem: "Go is not installed (no `go` on the PATH)" };
  if (answer.status !== 0) return { problem: `go version failed: ${answer.stderr.trim()}` };
  return { version: answer.stdout.trim().split(" ")[2] ?? answer.stdout.trim() };
}

/** The folder with the programs, built now unless an earlier run built the same. */
export function realBinaries(say) {
  const { version, problem } = goVersion();
  if (problem !== undefined) throw new Error(problem);
  const folder = join(cacheFolder(), fingerprint(version));
  if (existsSync(join(folder, "versions.json"))) return folder;
  const partial = `${folder}.${process.pid}`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  const kubernetes = pinned("k8s.io/kubernetes");
  for (const [index, [path, program]] of Object.entries(programs).entries()) {
    const of = `${index + 1} of ${Object.keys(programs).length}`;
    say(`Building ${program} (${of}; minutes the first time, kept in ${cacheFolder()})`);
    const stamp = `-s -w -X k8s.io/component-base/version.gitVersion=${kubernetes}`;
    const args = ["build", "-mod=readonly", "-ldflags", stamp, "-o", join(partial, program), path];
    go(args);
  }
  const versions = { kubernetes, etcd: pinned("go.etcd.io/etcd/server/v3"), go: version };
  writeFileSync(join(partial, "versions.json"), `${JSON.stringify(versions)}\n`);
  // Another run may have built the same meanwhile; either's result will do.
  if (existsSync(folder)) rmSync(partial, { recursive: true, force: true });
  else renameSync(partial, folder);
  return folder;
}

/** The program of a conformance suite, built now unless an earlier run built the same. */
export function conformanceSuite(name, say) {
  const { version, problem } = goVersion();
  if (problem !== undefined) throw new Error(problem);
  const folder = join(moduleFolder, name);
  const program = join(cacheFolder(), `${name}-conformance-${fingerprint(version, folder)}`);
  if (existsSync(program)) return program;
  mkdirSync(cacheFolder(), { recursive: true });
  say(`Building ${suites[name].title} (kept in ${cacheFolder()})`);
  const partial = `${program}.${process.pid}`;
  go(["test", "-c", "-mod=readonly", "-o", partial, suites[name].package], folder);
  renameSync(partial, program);
  return program;
}

/** The version of a suite. */
export function conformanceVersion(name) {
  return pinned(suites[name].package, join(moduleFolder, name));
}

/**
 * Builds the client-go program once while there is a network: the namespace in which the tests build
 * it has none.
 */
export function buildClient() {
  go(["build", "-mod=readonly", "-o", devNull, "./clientgo"]);
}

function go(args, cwd = moduleFolder) {
  const answer = spawnSync("go", args, {
    cwd,
    env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "", GOWORK: "off" },
    encoding: "utf8",
  });
  if (answer.status !== 0) throw new Error(`go ${args.join(" ")} failed:\n${answer.stderr}`);
  return answer.stdout;
}

function cacheFolder() {
  return join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "lockstep", "real");
}

function fingerprint(version, folder = moduleFolder) {
  const hash = createHash("sha256").update(version).update(JSON.stringify(programs));
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(join(folder, file)));
  return hash.digest("hex").slice(0, 16);
}

function pinned(module, folder = moduleFolder) {
  const text = readFileSync(join(folder, "go.mod"), "utf8");
  const [, version] = new RegExp(`^(?:require )?\\s*${module} (v\\S+)`, "m").exec(text) ?? [];
  if (version === undefined) throw new Error(`e2e/real/go.mod does not pin ${module}`);
  return version;
}
