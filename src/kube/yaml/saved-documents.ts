// The documents in a saved file: one JSON document, several after each other as in `kubectl get
// --watch -o json` and audit logs, or YAML. An incomplete JSON document at the end is ignored. A
// document that cannot be read is reported, and the others are used.
import { isRecord } from "../kinds/fields.ts";
import { parseYaml, YamlProblem } from "./yaml-document.ts";

export interface SavedDocuments {
  readonly documents: readonly unknown[];
  /** They follow each other without a list around them, in the order in which they were written. */
  readonly isSequence: boolean;
  /** A list breaks off in the middle; the documents are what is whole in it. */
  readonly isBroken?: boolean;
  /** Of each document that cannot be read, its place and the reason. */
  readonly problems: readonly string[];
}

export function savedDocuments(whole: string): SavedDocuments {
  try {
    return { documents: [JSON.parse(whole)], isSequence: false, problems: [] };
  } catch {
    // Most saved objects are one JSON document, which is parsed a hundred times faster.
    const text = withoutLogs(whole);
    const documents = text.trimStart().startsWith("{") ? jsonSequence(text) : [];
    if (documents.length > 0) return { documents, isSequence: true, problems: [] };
    const items = itemsOfBroken(text);
    return items.length > 0
      ? { documents: items, isSequence: false, isBroken: true, problems: [] }
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
      // This document is incomplete. The next document is independent of it.
    }
  }
  return documents;
}

const [openBrace, closeBrace, quote, backslash] = [0x7b, 0x7d, 0x22, 0x5c];

/** The start and end of each outermost pair of braces; braces in strings are text. */
function* objectsIn(text: string): Generator<readonly [start: number, end: number]> {
  let depth = 0;
  let start = 0;
  let isInString = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (isInString) {
      if (code === backslash) index += 1;
      else if (code === quote) isInString = false;
    } else if (code === quote) isInString = true;
    else if (code === openBrace) {
      if (depth === 0) start = index;
      depth += 1;
    } else if (code === closeBrace && depth > 0) {
      depth -= 1;
      if (depth === 0) yield [start, index + 1];
    }
  }
}

/** Parsed YAML takes a hundred times its size: an object has 1.5 MB at most. */
const yamlLengthMax = 4_000_000;

const documentMark = /^---(?:[ \t].*)?\r?$/m;

/** Objects of a list are parsed one by one, because of what parsing them together would take. */
function yamlDocuments(text: string): SavedDocuments {
  const documents: unknown[] = [];
  const problems: string[] = [];
  for (const [index, document] of text.split(documentMark).entries()) {
    const { head, items } = listIn(document);
    const read = (part: string): unknown => {
      try {
        return yamlValue(part);
      } catch (error) {
        if (!(error instanceof YamlProblem)) throw error;
        problems.push(`document ${index + 1}: ${error.message}`);
        return undefined;
      }
    };
    const value = read(head);
    if (items.length === 0) {
      if (value !== undefined && value !== null) documents.push(value);
      continue;
    }
    const list = items
      .map(read)
      .filter((one) => one !== undefined)
      .flat();
    documents.push({ ...(isRecord(value) ? value : {}), items: list });
  }
  return { documents, isSequence: false, problems };
}

/** As kubectl writes a list: each item begins with a dash at the left edge. */
function listIn(document: string): { readonly head: string; readonly items: readonly string[] } {
  const list = /^items:[ \t]*\r?\n(?=- )/m.exec(document);
  if (list === null) return { head: document, items: [] };
  const begin = list.index + list[0].length;
  const length = document.slice(begin).search(/^[^\s-]/m);
  const end = length < 0 ? document.length : begin + length;
  const items = document.slice(begin, end).split(/^(?=- )/m);
  return { head: `${document.slice(0, list.index)}${document.slice(end)}`, items };
}

function yamlValue(text: string): unknown {
  if (text.length > yamlLengthMax) {
    throw new YamlProblem(`an object has more than ${yamlLengthMax} characters of YAML`);
  }
  return parseYaml(Buffer.from(text)).document;
}
