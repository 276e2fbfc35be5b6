// `npm run docs`: writes the pictures and the made parts of the documents.
import { writeFileSync } from "node:fs";
import { contentOf, documentWith, runs, type Target, targetText } from "./documents.ts";
import { measurements } from "./measured.ts";

const usage = `Usage: npm run docs [-- NAME…]
       npm run docs -- --measure [NAME…]
       npm run docs -- --pages

  Writes what is the same on every machine, from runs in virtual time:
    ${runs.map(({ name }) => name).join(", ")}
  With --measure what is measured on this one, which should be idle; each takes minutes:
    ${measurements.map(({ name }) => name).join(", ")}
  With --pages pictures of the page, from a run of lockstep up in Chromium; it takes minutes.
`;

const args = process.argv.slice(2);
const names = args.filter((arg) => !arg.startsWith("-"));
const steps = args.includes("--measure") ? measurements : runs;
const isKnown =
  args.every((arg) => !arg.startsWith("-") || arg === "--measure") &&
  names.every((name) => steps.some((step) => step.name === name));

if (args.includes("--help")) {
  process.stdout.write(usage);
} else if (args.length === 1 && args[0] === "--pages") {
  const { takePictures } = await import("./page-pictures.ts");
  await takePictures((line) => process.stderr.write(`${line}\n`));
} else if (!isKnown) {
  process.stderr.write(usage);
  process.exitCode = 2;
} else {
  for (const { name, targets, make } of steps) {
    if (names.length > 0 && !names.includes(name)) continue;
    process.stderr.write(`${name}\n`);
    const texts = await make();
    for (const [index, target] of targets.entries()) write(target, texts[index] ?? "");
  }
}

function write(target: Target, text: string): void {
  const content = documentWith(target, text);
  const isSame = content === contentOf(target.path);
  process.stderr.write(`  ${isSame ? "unchanged" : "written"}: ${targetText(target)}\n`);
  if (!isSame) writeFileSync(target.path, content);
}
