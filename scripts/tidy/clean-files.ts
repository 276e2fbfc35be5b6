// Remembers which files had nothing to report, because parsing two thousand files takes seconds and few of
// them change between two runs. A file is known by its path, its content, the rules and the parser.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const rules = ["tidy.ts", "folders.ts", "plain-words.ts"].map((name) => `scripts/tidy/${name}`);

/** The lock names the version of the parser. */
const judgedBy = [...rules, "package-lock.json"];

export class CleanFiles {
  readonly #path: string;
  readonly #judge: string;
  readonly #known: ReadonlySet<string>;
  readonly #now = new Set<string>();

  /** Beside the caches of the compiler and of knip, unless another path is given. */
  constructor(path = join("node_modules", ".cache", "lockstep", "tidy.json")) {
    this.#path = path;
    this.#judge = digestOf(...judgedBy.map((name) => readFileSync(name, "utf8")));
    this.#known = new Set(knownIn(path));
  }

  has(path: string, source: string): boolean {
    const digest = this.#digest(path, source);
    if (!this.#known.has(digest)) return false;
    this.#now.add(digest);
    return true;
  }

  add(path: string, source: string): void {
    this.#now.add(this.#digest(path, source));
  }

  /** Files that were not asked for are forgotten. */
  save(): void {
    mkdirSync(dirname(this.#path), { recursive: true });
    writeFileSync(this.#path, JSON.stringify([...this.#now]));
  }

  #digest(path: string, source: string): string {
    return digestOf(this.#judge, path, source);
  }
}

/** None where the file is absent or damaged: then every file is read. */
function knownIn(path: string): readonly string[] {
  try {
    const known: unknown = JSON.parse(readFileSync(path, "utf8"));
    return Array.isArray(known) ? known : [];
  } catch {
    return [];
  }
}

function digestOf(...texts: readonly string[]): string {
  const hash = createHash("sha256");
  for (const text of texts) hash.update(`${text.length} `).update(text);
  return hash.digest("base64");
}
