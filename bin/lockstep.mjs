#!/usr/bin/env node
// The `lockstep` command, and as `kubectl-lockstep` the plugin of kubectl. An installed package has only
// the compiled program. In a checkout whose sources changed since they were compiled it compiles them
// first, so that what runs is what is written.
import { existsSync } from "node:fs";

const here = (path) => new URL(path, import.meta.url);
if (existsSync(here("../src"))) await prepareCheckout();
await import(here("../dist/src/main.js").href);

async function prepareCheckout() {
  const { build, buildIsReady, nodeProblem } = await import("../scripts/setup.mjs");
  const problem = nodeProblem();
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    process.exit(1);
  }
  if (!existsSync(here("../node_modules/typescript"))) {
    process.stderr.write(
      "This checkout is not set up yet. Run: npm run setup (or npm start, which then shows it all)\n",
    );
    process.exit(1);
  }
  if (!buildIsReady()) build();
}
