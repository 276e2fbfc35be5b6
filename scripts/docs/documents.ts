// The generated parts of the documents, and their generators. A run in virtual time has a fixed
// seed and gives the same text each time, so a test repeats it and compares; measured parts are in
// `measured.ts`.
import { existsSync, readFileSync } from "node:fs";
import { allBenchmarks } from "../../benchmarks/all-benchmarks.ts";
import { type Line, textOf } from "./docs-terminal.ts";
import { incidentRun } from "./incident-run.ts";
import { ingressRun } from "./ingress-run.ts";
import { asCode, withPart } from "./marked-part.ts";
import { migrateRun } from "./migrate-run.ts";
import { readPicture, terminalPicture } from "./terminal-picture.ts";
import { watchRun } from "./watch-run.ts";

export interface Target {
  /** From the root of the repository. */
  readonly path: string;
  /** The name of its marked part; the whole file unless given. */
  readonly part?: string;
}

export interface DocsRun {
  readonly name: string;
  readonly targets: readonly Target[];
  /** Takes tens of seconds: repeated by `npm test`, not by `npm run check`. */
  readonly isSlow: boolean;
  /** The text for each target, in their order. */
  readonly make: () => Promise<readonly string[]>;
}

/** The only picture that is measured. */
export const upPicture: Target = { path: "docs/pictures/up.svg" };

/** Of the eight that it writes; they are alike. */
const pipedLines = 5;

export const runs: readonly DocsRun[] = [
  {
    name: "benchmarks",
    targets: [{ path: "README.md", part: "made: benchmarks" }],
    isSlow: false,
    make: async () => [benchmarkTable()],
  },
  {
    name: "up",
    targets: [upPicture],
    isSlow: false,
    make: async () => [drawnAgain(contentOf(upPicture.path))],
  },
  {
    name: "watch",
    targets: [
      { path: "docs/pictures/watch.svg" },
      { path: "docs/watch.md", part: "made: watch" },
      { path: "docs/watch.md", part: "made: watch in a pipe" },
    ],
    isSlow: true,
    make: watchTexts,
  },
  {
    name: "ingress",
    targets: [
      { path: "docs/ingress.md", part: "made: endpoints" },
      { path: "docs/ingress.md", part: "made: shadow" },
    ],
    isSlow: false,
    make: async () => {
      const { endpoints, shadow } = await ingressRun();
      return [asCode(endpoints), asCode(shadow)];
    },
  },
  {
    name: "migrate",
    targets: [{ path: "docs/migrate.md", part: "made: check" }],
    isSlow: false,
    make: async () => [asCode(await migrateRun())],
  },
  {
    name: "incident",
    targets: [
      { path: "docs/pictures/incident.svg" },
      { path: "docs/blame.md", part: "made: blame" },
    ],
    isSlow: true,
    make: incidentTexts,
  },
];

/** The content of the file with the text in its place. */
export function documentWith({ path, part }: Target, text: string): string {
  if (part === undefined) return text;
  const document = withPart(contentOf(path), part, text);
  if (document === undefined) throw new Error(`${path} has no part <!-- ${part} -->`);
  return document;
}

/** `docs/watch.md, made: watch`. */
export function targetText({ path, part }: Target): string {
  return part === undefined ? path : `${path}, ${part}`;
}

/** Empty when there is none yet. */
export function contentOf(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

function benchmarkTable(): string {
  const rows = Object.entries(allBenchmarks).map(
    ([name, { description }]) =>
      `| \`npm run bench -- ${name}\` | ${description.replaceAll(/\s+/g, " ")} |\n`,
  );
  return `| command | measures |\n| --- | --- |\n${rows.join("")}`;
}

/** The figures were measured; the drawing is generated. */
function drawnAgain(picture: string): string {
  const { lines, label } = readPicture(picture);
  return terminalPicture(lines, { label });
}

async function watchTexts(): Promise<readonly string[]> {
  const { screen, piped } = await watchRun();
  const isEmpty = (line: Line): boolean => line.length === 0;
  const label =
    "lockstep watch during the incident resync-storm: a release in quiet times, whose eight changes " +
    "are over; one in the storm, whose eight changes are in flight, all of them slow; and the lags " +
    "of every hop";
  // Below the lines that are printed first, which the document has as text.
  const picture = terminalPicture(screen.slice(screen.findIndex(isEmpty) + 1), { label });
  const examples = piped.split("\n").slice(0, pipedLines).join("\n");
  return [picture, asCode(textOf(screen)), asCode(examples)];
}

async function incidentTexts(): Promise<readonly string[]> {
  const { screen, blame } = await incidentRun();
  const label =
    "Output of lockstep incident throttled-controller: its figures beside those of the write-up, " +
    "stock beside Lockstep, and charts";
  return [terminalPicture(screen, { label }), asCode(blame)];
}
