#!/usr/bin/env node
// The `lockstep` command. In a checkout whose sources changed since they were compiled it compiles
// them first, so that what runs is what is written.
import { existsSync } from "node:fs";
import { build, buildIsReady, nodeProblem } from "../scripts/setup.mjs";

const problem = nodeProblem();
if (problem !== undefined) {
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}
const here = (path) => new URL(path, import.meta.url);
if (!existsSync(here("../node_modules/typescript"))) {
  process.stderr.write(
    "This checkout is not set up yet. Run: npm run setup (or npm start, which then shows it all)\n",
  );
  process.exit(1);
}
if (!buildIsReady()) build();
await import(here("../dist/src/main.js").href);
