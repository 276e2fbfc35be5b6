// The documents in a file that somebody saved: one JSON document, many after each other as
// `kubectl get --watch -o json` and audit logs have them, or YAML. A last one that breaks off is left
// out.
import { type Document, parseAllDocuments } from "yaml";

export interface SavedDocuments {
  readonly documents: readonly unknown[];
  /** They follow each other without a list around them, in the order in which they were written. */
  readonly isSequence: boolean;
  /** A list breaks off in the middle; the documents are what is whole in it. */
  readonly isBroken?: boolean;
}

/** Undefined when the text is neither JSON nor YAML. */
export function savedDocuments(whole: string): SavedDocuments | undefined {
  try {
    return { documents: [JSON.parse(whole)], isSequence: false };
  } catch {
    // Most saved objects are one JSON document, which is parsed a hundred times faster.
    const text = withoutLogs(whole);
    const documents = text.trimStart().startsWith("{") ? jsonSequence(text) : [];
    if (documents.length > 0) return { documents, isSequence: true };
    const items = itemsOfBroken(text);
    return items.length > 0
      ? { documents: items, isSequence: false, isBroken: true }
      : yamlDocuments(text);
  }
}

/** Of a list that was cut off, such as by a full disk. */
function itemsOfBroken(text: string): readonly unknown[] {
  const beginning = /^\s*\{[^[]{0,1000}"items"\s*:\s*\[/.exec(text);
  return beginning === null ? [] : jsonSequence(text.slice(beginning[0].length));
}

/** `kubectl cluster-info dump` prints logs of pods between the objects, in such frames. */
const logsBegin = "\n==== START logs for ";
const logsEnd = "\n==== END logs for ";

function withoutLogs(text: string): string {
  const parts: string[] = [];
  let from = 0;
  for (;;) {
    const begin = text.indexOf(logsBegin, from);
    const end = begin < 0 ? -1 : text.indexOf(logsEnd, begin);
    if (end < 0) break;
    parts.push(text.slice(from, begin));
    const line = text.indexOf("\n", end + 1);
    from = line < 0 ? text.length : line;
  }
  return `${parts.join("")}${text.slice(from)}`;
}

function jsonSequence(text: string): readonly unknown[] {
  const documents: unknown[] = [];
  for (const [start, end] of objectsIn(text)) {
    try {
      documents.push(JSON.parse(text.slice(start, end)));
    } catch {
      // Whoever wrote this piece broke off in it; what comes after it stands for itself.
    }
  }
  return documents;
}

/** Where each outermost pair of braces begins and ends; braces in strings are text. */
function* objectsIn(text: string): Generator<readonly [start: number, end: number]> {
  const marks = /[{}]|"(?:[^"\\]|\\.)*"/gs;
  let depth = 0;
  let start = 0;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    if (mark[0] === "{") {
      if (depth === 0) start = mark.index;
      depth += 1;
    } else if (mark[0] === "}" && depth > 0) {
      depth -= 1;
      if (depth === 0) yield [start, mark.index + 1];
    }
  }
}

function yamlDocuments(text: string): SavedDocuments | undefined {
  const documents = parseAllDocuments(text);
  if (!Array.isArray(documents)) return { documents: [], isSequence: false };
  if (documents.some(({ errors }) => errors.length > 0)) return undefined;
  const values = plainValues(documents);
  return values && { documents: values, isSequence: false };
}

/** Undefined when they refer to each other without end. */
function plainValues(documents: readonly Document[]): readonly unknown[] | undefined {
  try {
    return documents.map((document): unknown => document.toJS());
  } catch {
    // The file is said to be neither.
    return undefined;
  }
}
