#!/usr/bin/env node
// `npm run test:package`: judges the package as a user gets it. Packs it twice, installs it into an empty
// folder without running install scripts, so nothing is compiled there, and runs its commands.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const usage = `Usage: npm run test:package

Packs Lockstep, installs the tarball into an empty folder and runs lockstep and kubectl-lockstep from
there: lab, watch, ingress and up. Ends with one line "N passed, N failed".
`;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const mebibyte = 1024 * 1024;
const largestTarball = 3 * mebibyte;
const largestInstallation = 40 * mebibyte;
/** A command that has not done its job by then never will. */
const patienceMs = 300_000;

const folder = mkdtempSync(join(tmpdir(), "lockstep-package-"));
const started = [];
const totals = { passed: 0, failed: 0 };

if (process.argv.includes("--help") || process.argv.includes("-h")) {
  process.stdout.write(usage);
} else {
  try {
    await judge();
  } catch (error) {
    report(false, error.message);
  } finally {
    for (const child of started) await stop(child);
  }
  process.stdout.write(`\n${totals.passed} passed, ${totals.failed} failed\n`);
  process.exitCode = totals.failed === 0 ? 0 : 1;
}
rmSync(folder, { recursive: true, force: true });

async function judge() {
  const tarball = pack("first");
  const hash = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");
  report(hash(tarball) === hash(pack("second")), "two packs are byte-identical");
  const bytes = lstatSync(tarball).size;
  report(bytes <= largestTarball, `tarball: ${megabytes(bytes)} (goal: at most 3 MiB)`);

  const place = join(folder, "installed");
  run("mkdir", [place]);
  writeFileSync(join(place, "package.json"), '{ "private": true }');
  run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", tarball], place);
  const installed = sizeOf(join(place, "node_modules"));
  report(
    installed <= largestInstallation,
    `installed: ${megabytes(installed)} (goal: at most 40 MiB)`,
  );

  const command = (name) => join(place, "node_modules", ".bin", name);
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const printed = run(command("lockstep"), ["--version"], place).trim();
  report(printed === version, `lockstep --version prints ${printed} (${startText(command)})`);
  await judgeWithLab(command, place);
  // Exit code 0 means that all its checks passed; any other throws.
  run(command("lockstep"), ["up", "--once", "--no-incidents", "--no-page"], place);
  report(true, "lockstep up --once: all checks passed");
}

/** `kubectl lockstep watch` follows a cluster that it did not start, and an ingress serves it. */
async function judgeWithLab(command, place) {
  const kubeconfig = join(place, "lab.yaml");
  const lab = start(command("lockstep"), ["lab", "--json", "--kubeconfig", kubeconfig], place);
  await lab.prints(/"servers"/);
  report(true, "lockstep lab runs");
  const ofLab = ["--kubeconfig", kubeconfig, "--context", "lab-1"];
  const watch = start(command("kubectl-lockstep"), ["watch", ...ofLab], place);
  await watch.prints(/lab-1/);
  report((await stop(watch)) === 0, "kubectl lockstep watch follows it and ends on SIGINT");
  const status = await freePort();
  const ports = ["--http-port", await freePort(), "--https-port", await freePort()];
  const flags = [...ofLab, "--prefix", join(place, "nginx"), "--status-port", status, ...ports];
  const ingress = start(command("lockstep"), ["ingress", "--no-snapshot", ...flags], place);
  await until(async () => (await fetch(`http://127.0.0.1:${status}/readyz`)).status === 200);
  const answer = await fetch(`http://127.0.0.1:${ports[1]}/`);
  report(answer.status === 404, "lockstep ingress is ready and nginx answers");
  report((await stop(ingress)) === 0, "lockstep ingress ends on SIGINT");
  report((await stop(lab)) === 0, "lockstep lab ends on SIGINT");
}

function pack(name) {
  const place = join(folder, name);
  run("mkdir", [place]);
  const made = run("npm", ["pack", "--silent", "--pack-destination", place]).trim();
  return join(place, made.split("\n").at(-1));
}

/** Beside the start of Node alone, as the machine may be busy. */
function startText(command) {
  const whole = middleMs([command("lockstep"), "--version"]);
  const bare = middleMs(["-e", "0"]);
  return `${whole} ms, Node alone ${bare} ms; goal: 150 ms on an idle machine`;
}

/** The middle of several runs. */
function middleMs(args) {
  const times = Array.from({ length: 9 }, () => {
    const began = performance.now();
    spawnSync(process.execPath, args);
    return performance.now() - began;
  });
  return Math.round(times.sort((a, b) => a - b)[4]);
}

function start(program, args, cwd) {
  const child = spawn(program, args.map(String), { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const chunks = [];
  child.stdout.on("data", (chunk) => chunks.push(chunk));
  child.stderr.on("data", (chunk) => chunks.push(chunk));
  const ended = new Promise((resolve) => child.on("close", resolve));
  const output = () => Buffer.concat(chunks).toString();
  const one = {
    child,
    ended,
    prints: (pattern) =>
      until(() => {
        if (child.exitCode !== null) throw new Error(`${args[0]} ended: ${output()}`);
        return pattern.test(output());
      }),
  };
  started.push(one);
  return one;
}

/** Ends it as Ctrl-C does, and returns its exit code. */
async function stop({ child, ended }) {
  if (child.exitCode === null) child.kill("SIGINT");
  return await ended;
}

/** Waits until it holds. A refused connection means: not yet. */
async function until(holds) {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      if (await holds()) return;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
    if (performance.now() > deadline) throw new Error("the wait took longer than 5 min");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function run(program, args, cwd = root) {
  const result = spawnSync(program, args, {
    cwd,
    encoding: "utf8",
    timeout: patienceMs,
    maxBuffer: 64 * mebibyte,
  });
  if (result.status === 0) return result.stdout;
  throw new Error(`${program} ${args.join(" ")} failed:\n${result.stdout}${result.stderr}`);
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function sizeOf(path) {
  const found = lstatSync(path);
  if (!found.isDirectory()) return found.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

function megabytes(bytes) {
  return `${(bytes / mebibyte).toFixed(1)} MiB`;
}

function report(ok, text) {
  totals[ok ? "passed" : "failed"] += 1;
  process.stdout.write(`${ok ? "✓" : "✗"} ${text}\n`);
}
