// The width of a text in columns of a terminal, and texts cut, padded or wrapped to a width. A wide
// character takes two columns, a mark on another character none, an emoji of several code points
// two, a colour none. Pure.
import type { Terminal } from "../../environment/terminal.ts";

/** East Asian wide and full-width forms, and emoji: two columns wide. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u;

/** Marks and joiners without a base character. */
const invisible = /^[\p{Mn}\p{Me}\p{Cf}]*$/u;

const ascii = /^[\x20-\x7e]*$/;

const escapeSign = String.fromCharCode(27);
const colour = new RegExp(`${escapeSign}\\[[\\d;]*m`, "g");

/** Splits a text into characters as a reader sees them. */
const characters = new Intl.Segmenter("en", { granularity: "grapheme" });

export function textColumns(text: string): number {
  if (ascii.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of characters.segment(text.replace(colour, ""))) {
    columns += characterColumns(segment);
  }
  return columns;
}

/** The part that fits, and the rest. Not for texts with colours. */
function splitAtColumn(text: string, columns: number): readonly [string, string] {
  if (ascii.test(text)) return [text.slice(0, columns), text.slice(columns)];
  let taken = 0;
  for (const { segment, index } of characters.segment(text)) {
    taken += characterColumns(segment);
    if (taken > columns) return [text.slice(0, index), text.slice(index)];
  }
  return [text, ""];
}

/** A text that is too long is cut and ends with `…`. */
export function cutText(text: string, columns: number): string {
  if (textColumns(text) <= columns) return text;
  return columns < 1 ? "" : `${splitAtColumn(text, columns - 1)[0]}…`;
}

/** Cut or padded at the end to this width. */
export function leftText(text: string, columns: number): string {
  const cut = cutText(text, columns);
  return cut + " ".repeat(columns - textColumns(cut));
}

/** Cut or padded at the start to this width. */
export function rightText(text: string, columns: number): string {
  const cut = cutText(text, columns);
  return " ".repeat(columns - textColumns(cut)) + cut;
}

function characterColumns(character: string): number {
  if (wide.test(character)) return 2;
  return invisible.test(character) ? 0 : 1;
}

interface Wrapping {
  readonly width: number;
  /** The start of the first line, and of the others. */
  readonly first?: string;
  readonly rest?: string;
}

/** Minimum width of the text, on any terminal. */
const leastWidth = 1;

/** Wraps at spaces; a longer word is split. */
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

/** Several spaces count as one. */
function pieces(word: string, width: number): readonly string[] {
  if (word !== "" && textColumns(word) <= width) return [word];
  const parts: string[] = [];
  for (let left = word; left !== ""; ) {
    const [fitting, others] = splitAtColumn(left, width);
    // A wide character stays whole although it does not fit into one column.
    const part = fitting === "" ? left : fitting;
    parts.push(part);
    left = part === left ? "" : others;
  }
  return parts;
}

/** Narrower tables would break, wider ones are hard to read. */
const reportMin = 80;
const reportMax = 120;

/** The width of a report with tables. */
export function reportColumns({ columns }: Pick<Terminal, "columns">, max = reportMax): number {
  return Math.max(reportMin, Math.min(columns, max));
}
