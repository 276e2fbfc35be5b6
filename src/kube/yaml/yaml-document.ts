// YAML as Kubernetes reads it, in requests and in kubeconfig files: the first document, as plain
// values by YAML 1.1, with the lines at which a key is set twice. The last value of such a key counts.
import {
  type Document,
  isCollection,
  isPair,
  isScalar,
  LineCounter,
  parseAllDocuments,
  type Tags,
  visit,
} from "yaml";
import { isTooDeep, isYamlTooDeep, nestingMax } from "./nesting.ts";

export class YamlProblem extends Error {
  override readonly name = "YamlProblem";
  readonly code = "YAML";
  /** The message without quotations of the text, for texts that hold secrets. */
  readonly unquoted: string;

  constructor(message: string, unquoted = message) {
    super(message);
    this.unquoted = unquoted;
  }
}

export interface YamlDocument {
  readonly document: unknown;
  /** `line 3: key "name" already set in map` */
  readonly repeatedLines: readonly string[];
}

/** How many alias expansions one document may have, against billion-laughs documents. */
const yamlMaxAliases = 100;

/** Throws a YamlProblem when it is none. */
export function parseYaml(bytes: Buffer): YamlDocument {
  const text = bytes.toString("utf8");
  if (isYamlTooDeep(text)) throw tooDeep();
  const lines = new LineCounter();
  // Further documents are ignored, as they are by the real server.
  const [parsed] = parseAllDocuments(text, {
    lineCounter: lines,
    uniqueKeys: false,
    // The library's warnings go to standard error, with a part of the text.
    logLevel: "error",
    version: "1.1",
    customTags: (tags) => tags.filter((tag) => !isForeign(tag)),
  });
  if (parsed === undefined) {
    return { document: null, repeatedLines: [] };
  }
  const [problem] = parsed.errors;
  if (problem !== undefined) {
    const { line } = lines.linePos(problem.pos[0]);
    throw libraryProblem(`yaml: line ${line}: `, problem);
  }
  const repeatedLines: string[] = [];
  visit(parsed, {
    Map(_key, map) {
      repeatedLines.push(...repeatedIn(map.items, lines));
    },
    Alias(_key, { source }, above) {
      if (above.some((node) => isCollection(node) && node.anchor === source)) {
        const message = `yaml: anchor '${source}' value contains itself`;
        throw new YamlProblem(message, "yaml: the value of an anchor contains itself");
      }
    },
  });
  return { document: plainValue(parsed), repeatedLines };
}

function plainValue(parsed: Document): unknown {
  let value: unknown;
  try {
    value = parsed.toJS({ maxAliasCount: yamlMaxAliases });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const isAliasing = error instanceof ReferenceError && error.message.startsWith("Excessive");
    if (isAliasing) throw new YamlProblem("yaml: document contains excessive aliasing");
    throw libraryProblem("yaml: ", error);
  }
  if (isTooDeep(value)) throw tooDeep();
  return value;
}

/** The library quotes the text after the first colon, and shows the place in further lines. */
function libraryProblem(where: string, { message }: Error): YamlProblem {
  const [line = ""] = message.split("\n", 1);
  const [unquoted = ""] = line.replace(/ at line \d+, column \d+:?$/, "").split(": ", 1);
  return new YamlProblem(`${where}${line}`, `${where}${unquoted}`);
}

function tooDeep(): YamlProblem {
  return new YamlProblem(`yaml: exceeded max depth of ${nestingMax}`);
}

/** Go's decoder knows neither dates nor numbers to base sixty: both stay text. */
function isForeign(tag: Tags[number]): boolean {
  return (
    typeof tag === "object" && (tag.tag === "tag:yaml.org,2002:timestamp" || tag.format === "TIME")
  );
}

function repeatedIn(pairs: readonly unknown[], lines: LineCounter): readonly string[] {
  const seen = new Set<unknown>();
  const repeated: string[] = [];
  for (const pair of pairs) {
    const key = isPair(pair) ? pair.key : undefined;
    if (!isScalar(key)) {
      continue;
    }
    if (seen.has(key.value)) {
      const { line } = lines.linePos(key.range?.[0] ?? 0);
      repeated.push(`line ${line}: key ${JSON.stringify(key.value)} already set in map`);
    }
    seen.add(key.value);
  }
  return repeated;
}
