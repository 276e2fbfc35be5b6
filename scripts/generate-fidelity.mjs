#!/usr/bin/env node
// Writes docs/fidelity.md from the results of the tests against a real control plane, one JSON file
// for each section: `node scripts/generate-fidelity.mjs FOLDER`. Everything in the document was
// measured; nothing is written by hand.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const target = fileURLToPath(new URL("../docs/fidelity.md", import.meta.url));

const introduction = `# Fidelity: the lab beside a real control plane

Made by \`npm run test:real -- --write-docs\`, which builds a real Kubernetes control plane, asks it
and the lab the same questions, and fails on any difference that is not listed here with its reason.
`;

export function renderFidelity(results) {
  return [introduction, ...results.map(renderSection)].join("\n");
}

function renderSection({ title, text, facts, columns, rows }) {
  const lines = [`## ${title}`, "", ...wrap(text), ""];
  const entries = Object.entries(facts);
  if (entries.length > 0) {
    lines.push(...entries.map(([name, value]) => `- ${name}: ${shown(value)}`), "");
  }
  if (columns.length > 0) {
    lines.push(tableRow(columns), tableRow(columns.map(() => "---")), ...rows.map(tableRow), "");
  }
  return lines.join("\n");
}

function tableRow(cells) {
  return `| ${cells.map((cell) => shown(cell).replaceAll("|", "\\|")).join(" | ")} |`;
}

/** Numbers with a comma at thousands. */
function shown(value) {
  return typeof value === "number" ? value.toLocaleString("en-US") : value;
}

/** Lines of a document are at most this long, tables aside. */
const columnsMax = 100;

function wrap(text) {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1);
    if (line !== "" && line.length + 1 + word.length > columnsMax) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) {
    process.stderr.write("Usage: node scripts/generate-fidelity.mjs FOLDER\n");
    process.exitCode = 2;
  } else {
    const files = readdirSync(folder)
      .filter((name) => name.endsWith(".json"))
      .sort();
    const results = files.map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
    writeFileSync(target, renderFidelity(results));
    process.stdout.write(`${results.length} sections written to ${target}\n`);
  }
}
