#!/usr/bin/env node
// `npm run test:page`: judges the page in Debian's Chromium, which is installed if it is missing.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { browserPackages, installPackages, missingPackages } from "./setup.mjs";

const usage = `Usage: npm run test:page -- [FILE…]

Runs the tests of the page in Debian's Chromium: those whose path contains one of FILE…, or all.
Chromium is installed with apt-get if it is missing and that is allowed.
`;

const args = process.argv.slice(2);
if (args.includes("--help") || args.includes("-h")) {
  process.stdout.write(usage);
} else if (hasBrowser()) {
  const run = spawnSync("node", ["scripts/run-tests.mjs", "page", ...args], { stdio: "inherit" });
  process.exitCode = run.status ?? 1;
} else {
  process.stderr.write("Chromium is missing, so the page cannot be tested.\n");
  process.exitCode = 1;
}

function hasBrowser() {
  const missing = missingPackages(existsSync, browserPackages);
  if (missing.length > 0) {
    installPackages(missing, process.env.LOCKSTEP_NO_SYSTEM !== "1", browserPackages);
  }
  return missingPackages(existsSync, browserPackages).length === 0;
}
