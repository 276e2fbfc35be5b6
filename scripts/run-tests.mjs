#!/usr/bin/env node
// Runs the stages of a test run, shows each with its time, and ends with one line `N passed, N failed`.
// Stages that stand together run at the same time, and what they say is shown as each ends. A failing
// stage does not hide the later ones, except that nothing is worth running when the types are wrong.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Of a simulation of ordinary cost; a costly one takes its share of them, and most are costly. */
const checkSeeds = 5;
const testSeeds = 100;

/** `npm run check` is run between edits: files that need more than half a second of processor time wait for `npm test`. */
const withoutLong = ["--exclude", "**/*.long.*"];

/** The compiler's cache of unchanged files; knip keeps its own beside it. */
const typesSeen = join("node_modules", ".cache", "lockstep", "types.tsbuildinfo");

const usage = `Usage: node scripts/run-tests.mjs check | test | soak [SEEDS [FILE…]] | page [FILE…] | real [FILE…]

  check   types, lint, tidy, unit tests, and up to ${checkSeeds} seeds a simulation: about a minute on two idle cores.
          It leaves out files with .long. in their name, which need more than half a second of processor time
  test    all of that with up to ${testSeeds} seeds, and the end-to-end tests: 13.2 min on two idle cores
  soak    simulations alone with up to SEEDS seeds (5000 unless given); a costly one takes a share of them
  page    the page in Chromium, which npm run test:page installs
  real    the tests against a real control plane, whose programs npm run test:real builds
`;

const [mode, ...rest] = process.argv.slice(2);
const [soakSeeds = "5000", ...soakFiles] = mode === "soak" ? rest : [];
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

/** Unit tests wait and simulations compute: in one run neither leaves a core idle. */
const checks = (seeds, args = []) => [
  [
    {
      ...tool("types", "tsc", "--noEmit", "--incremental", "--tsBuildInfoFile", typesSeen),
      stopOnFailure: true,
    },
    {
      ...tool("types of the page", "tsc", "-p", "ui", "--noEmit"),
      stopOnFailure: true,
    },
    tool("format and lint", "biome", "check", "--error-on-warnings", "."),
    tool("lint with types", "oxlint", "--type-aware", "--quiet", "."),
    tool("dead code", "knip", "--no-progress", "--cache"),
  ],
  [
    tests(
      `tidy, unit tests, simulations with up to ${seeds} seeds`,
      [...projects("check"), ...args],
      seeds,
    ),
  ],
];

const stages = {
  check: () => checks(checkSeeds, withoutLong),
  test: () => [...checks(testSeeds), [tests("end to end", projects("e2e", "story"))]],
  page: () => [[tests("the page in a browser", [...projects("page"), ...rest])]],
  real: () => [[tests("against a real control plane", [...projects("real"), ...rest])]],
  soak: () => [
    [
      tests(
        `simulations, up to ${soakSeeds} seeds`,
        [...projects("simulation"), ...soakFiles],
        soakSeeds,
      ),
    ],
  ],
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

function projects(...names) {
  return names.flatMap((name) => ["--project", name]);
}

async function runAll(groups) {
  for (const group of groups) {
    const results = await Promise.all(group.map((stage) => runStage(stage, group.length === 1)));
    const failed = group.filter((_, index) => !results[index]);
    failures.push(...failed.map(({ title }) => title));
    if (failed.some(({ stopOnFailure }) => stopOnFailure)) break;
  }
  if (failures.length > 0) process.stdout.write(`\nFailed: ${failures.join(", ")}\n`);
  const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : "";
  process.stdout.write(`\n${totals.passed} passed, ${totals.failed} failed${skipped}\n`);
  process.exitCode = failures.length > 0 ? 1 : 0;
}

/** The output of a stage is shown at once if it runs alone, else when it has ended. */
async function runStage(stage, isAlone) {
  const report = join(scratch, `${stage.title.replace(/\W+/g, "-")}.json`);
  const started = performance.now();
  if (isAlone) process.stdout.write(`── ${stage.title}\n`);
  const { code, output } = await runProgram(stage, report, isAlone);
  if (!isAlone) process.stdout.write(`── ${stage.title}\n${output}`);
  const ok = stage.count(code, report);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(`   ${ok ? "ok" : "FAILED"} in ${seconds} s\n`);
  return ok;
}

function runProgram({ program, args, seeds }, report, isAlone) {
  const written = program === "vitest" ? [...args, `--outputFile=${report}`] : args;
  const variables = seeds === undefined ? {} : { LOCKSTEP_SEEDS: String(seeds) };
  return new Promise((resolve) => {
    const child = spawn(join("node_modules", ".bin", program), written, {
      stdio: ["ignore", ...(isAlone ? ["inherit", "inherit"] : ["pipe", "pipe"])],
      env: { ...process.env, ...variables },
    });
    const chunks = [];
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (one) => chunks.push(one));
    child.on("error", (error) => {
      resolve({ code: 1, output: `   cannot run ${program}: ${error.message}\n` });
    });
    child.on("close", (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks) }));
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
