// Text broken into lines of a width, at spaces. Pure; used by whoever writes sentences to a terminal.
import { splitAtColumn, textColumns } from "./text-columns.ts";

export interface Wrapping {
  readonly width: number;
  /** Before the first line, and before the others. */
  readonly first?: string;
  readonly rest?: string;
}

/** Of the text on a line, however narrow the terminal is beside what stands before it. */
const leastWidth = 1;

/** Breaks at spaces; a word longer than a line is cut rather than lost. */
export function wrapText(
  text: string,
  { width, first = "", rest = "" }: Wrapping,
): readonly string[] {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  const longest = Math.max(leastWidth, width - textColumns(rest));
  for (const word of text.split(" ").flatMap((one) => pieces(one, longest))) {
    if (!isEmpty && textColumns(line) + 1 + textColumns(word) > width) {
      lines.push(line);
      line = rest;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line];
}

/** None of an empty word: several spaces are one. */
function pieces(word: string, width: number): readonly string[] {
  if (word !== "" && textColumns(word) <= width) return [word];
  const parts: string[] = [];
  for (let left = word; left !== ""; ) {
    const [fitting, others] = splitAtColumn(left, width);
    // A wide character does not fit into one column, and is not lost for that.
    const part = fitting === "" ? left : fitting;
    parts.push(part);
    left = part === left ? "" : others;
  }
  return parts;
}
