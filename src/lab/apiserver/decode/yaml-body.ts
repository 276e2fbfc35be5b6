// YAML in a request: one document of plain values, with the lines at which a key is set twice. The
// last value of such a key counts, and whether that is an error is for the client to say.
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
}

export interface YamlDocument {
  readonly document: unknown;
  /** `line 3: key "name" already set in map` */
  readonly repeatedLines: readonly string[];
}

/** How many alias expansions one YAML body may have, against billion-laughs documents. */
const yamlMaxAliases = 100;

/** Throws a YamlProblem when it is none. */
export function parseYaml(body: Buffer): YamlDocument {
  const text = body.toString("utf8");
  if (isYamlTooDeep(text)) throw tooDeep();
  const lines = new LineCounter();
  // Further documents are ignored, as they are by the real server.
  const [parsed] = parseAllDocuments(text, {
    lineCounter: lines,
    uniqueKeys: false,
    version: "1.1",
    customTags: (tags) => tags.filter((tag) => !isForeign(tag)),
  });
  if (parsed === undefined) {
    return { document: null, repeatedLines: [] };
  }
  const [problem] = parsed.errors;
  if (problem !== undefined) {
    const { line } = lines.linePos(problem.pos[0]);
    throw new YamlProblem(`yaml: line ${line}: ${problem.message.split("\n", 1)[0]}`);
  }
  const repeatedLines: string[] = [];
  visit(parsed, {
    Map(_key, map) {
      repeatedLines.push(...repeatedIn(map.items, lines));
    },
    Alias(_key, { source }, above) {
      if (above.some((node) => isCollection(node) && node.anchor === source)) {
        throw new YamlProblem(`yaml: anchor '${source}' value contains itself`);
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
    const isAliasing = error instanceof ReferenceError;
    const message = error instanceof Error ? error.message : String(error);
    throw new YamlProblem(`yaml: ${isAliasing ? "document contains excessive aliasing" : message}`);
  }
  if (isTooDeep(value)) throw tooDeep();
  return value;
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
