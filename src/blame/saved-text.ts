// The documents in a file that somebody saved: one JSON document, many after each other as
// `kubectl get --watch -o json` and audit logs have them, or YAML. A last one that breaks off is left
// out.
import { type Document, parseAllDocuments } from "yaml";

export interface SavedDocuments {
  readonly documents: readonly unknown[];
  /** They follow each other without a list around them, in the order in which they were written. */
  readonly isSequence: boolean;
}

/** Undefined when the text is neither JSON nor YAML. */
export function savedDocuments(text: string): SavedDocuments | undefined {
  try {
    return { documents: [JSON.parse(text)], isSequence: false };
  } catch {
    // Most saved objects are one JSON document, which is parsed a hundred times faster.
    const documents = text.trimStart().startsWith("{") ? jsonSequence(text) : [];
    if (documents.length > 0) return { documents, isSequence: true };
    return yamlDocuments(text);
  }
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
