#!/usr/bin/env node
// Runs the stages of a test run one after another, shows each with its time, and ends with one line
// `N passed, N failed`. A failing stage does not hide the later ones, except that nothing is worth
// running when the types are wrong.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const usage = `Usage: node scripts/run-tests.mjs check | test | soak [SEEDS] | real [FILE…]

  check   tidy, types, lint, unit tests, ${50} simulation seeds: under a minute
  test    check with ${500} seeds, and the end-to-end tests: under fifteen minutes
  soak    simulations alone with SEEDS seeds (5000 unless given)
  real    the tests against a real control plane, whose programs npm run test:real builds
`;

const [mode, ...rest] = process.argv.slice(2);
const [soakSeeds = "5000"] = mode === "soak" ? rest : [];
const scratch = mkdtempSync(join(tmpdir(), "lockstep-tests-"));
const totals = { passed: 0, failed: 0, skipped: 0 };
const failures = [];

const tool = (title, program, ...args) => ({ title, program, args, count: countExit });
const tests = (title, args, seeds) => ({
  title,
  program: "vitest",
  args: ["run", "--reporter=default", "--reporter=json", ...args],
  seeds,
  count: countReport,
});

const checks = (seeds) => [
  tests("tidy", ["--project", "unit", "scripts/tidy"]),
  { ...tool("types", "tsc", "--noEmit"), stopOnFailure: true },
  tool("format and lint", "biome", "check", "--error-on-warnings", "."),
  tool("lint with types", "oxlint", "--type-aware", "--quiet", "."),
  tool("dead code", "knip", "--no-progress"),
  tests("unit tests", ["--project", "unit", "--exclude", "scripts/tidy/**"], seeds),
  tests(`simulations, ${seeds} seeds`, ["--project", "simulation"], seeds),
];

const stages = {
  check: () => checks(50),
  test: () => [...checks(500), tests("end to end", ["--project", "e2e"])],
  real: () => [tests("against a real control plane", ["--project", "real", ...rest])],
  soak: () => [tests(`simulations, ${soakSeeds} seeds`, ["--project", "simulation"], soakSeeds)],
};

if (mode === "--help" || mode === "-h") {
  process.stdout.write(usage);
} else if (stages[mode] === undefined || !/^[1-9]\d*$/.test(soakSeeds)) {
  process.stderr.write(usage);
  process.exitCode = 2;
} else {
  await runAll(stages[mode]());
}
rmSync(scratch, { recursive: true, force: true });

async function runAll(list) {
  for (const stage of list) {
    process.stdout.write(`── ${stage.title}\n`);
    const started = performance.now();
    const ok = await runStage(stage);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    process.stdout.write(`   ${ok ? "ok" : "FAILED"} in ${seconds} s\n`);
    if (!ok) failures.push(stage.title);
    if (!ok && stage.stopOnFailure) break;
  }
  if (failures.length > 0) process.stdout.write(`\nFailed: ${failures.join(", ")}\n`);
  const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : "";
  process.stdout.write(`\n${totals.passed} passed, ${totals.failed} failed${skipped}\n`);
  process.exitCode = failures.length > 0 ? 1 : 0;
}

function runStage(stage) {
  const report = join(scratch, `${stage.title.replace(/\W+/g, "-")}.json`);
  const args = stage.program === "vitest" ? [...stage.args, `--outputFile=${report}`] : stage.args;
  const variables = stage.seeds === undefined ? {} : { LOCKSTEP_SEEDS: String(stage.seeds) };
  return new Promise((resolve) => {
    const child = spawn(join("node_modules", ".bin", stage.program), args, {
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, ...variables },
    });
    child.on("error", (error) => {
      process.stdout.write(`   cannot run ${stage.program}: ${error.message}\n`);
      resolve(stage.count(1, report));
    });
    child.on("exit", (code) => resolve(stage.count(code ?? 1, report)));
  });
}

/** A tool is one check: it passed or it did not. */
function countExit(code) {
  totals[code === 0 ? "passed" : "failed"] += 1;
  return code === 0;
}

/** A test run counts each of its tests; one that ended without a report is a failure by itself. */
function countReport(code, path) {
  try {
    const report = JSON.parse(readFileSync(path, "utf8"));
    totals.passed += report.numPassedTests;
    totals.failed += report.numFailedTests;
    totals.skipped += report.numPendingTests + report.numTodoTests;
    const ran = report.numPassedTests + report.numFailedTests;
    if (code !== 0 && report.numFailedTests === 0) totals.failed += 1;
    return code === 0 && ran > 0;
  } catch (error) {
    process.stdout.write(`   no report: ${error.message}\n`);
    totals.failed += 1;
    return false;
  }
}
