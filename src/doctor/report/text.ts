// A finding for people at a terminal: verdict first, then what was seen and where, then the fix on
// lines of its own so that it can be copied. At most 80 columns unless there are more.
import type { Finding } from "../finding.ts";

export interface TextOptions {
  /** Columns; 80 unless given. */
  readonly width?: number;
}

const defaultWidth = 80;

const bullet = "  · ";
const hanging = "    ";

export function findingText(finding: Finding, options: TextOptions = {}): string {
  const width = options.width ?? defaultWidth;
  const { rule, severity, confidence, cause, evidence, fix } = finding;
  const border = "─".repeat(width);
  return [
    ...wrap(`${severity.toUpperCase()} ${rule} (${confidence})`, { width }),
    ...wrap(cause, { width }),
    "",
    "Seen",
    ...evidence.flatMap(({ text, source }) => [
      ...wrap(text, { width, first: bullet, rest: hanging }),
      ...wrap(source, { width, first: `${hanging}in `, rest: `${hanging}   ` }),
    ]),
    "",
    `Fix, on ${fix.component}`,
    border,
    fix.change,
    border,
    ...wrap(fix.reason, { width }),
    "",
  ].join("\n");
}

interface Wrapping {
  readonly width: number;
  /** Before the first line, and before the others. */
  readonly first?: string;
  readonly rest?: string;
}

/** Breaks at spaces; a word longer than a line is cut rather than lost. */
function wrap(text: string, { width, first = "", rest = "" }: Wrapping): readonly string[] {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of text.split(" ").flatMap((one) => pieces(one, width - rest.length))) {
    if (!isEmpty && line.length + 1 + word.length > width) {
      lines.push(line);
      line = rest;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line];
}

function pieces(word: string, width: number): readonly string[] {
  const parts: string[] = [];
  for (let at = 0; at < word.length; at += width) parts.push(word.slice(at, at + width));
  return parts;
}
