// How many columns of a terminal a text takes, and texts made to fit. Names may be in any script: a
// wide character takes two columns, a mark on another character none, an emoji of several code points
// two, a colour none. Pure.
import type { Terminal } from "../../environment/terminal.ts";

/** East Asian wide and full-width forms, and emoji: what terminals draw two columns wide. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u;

/** Marks, and what joins or ends emoji, with nothing that they would be on. */
const invisible = /^[\p{Mn}\p{Me}\p{Cf}]*$/u;

const ascii = /^[\x20-\x7e]*$/;

const escapeSign = String.fromCharCode(27);
const colour = new RegExp(`${escapeSign}\\[[\\d;]*m`, "g");

/** What a reader takes for one character. */
const characters = new Intl.Segmenter("en", { granularity: "grapheme" });

export function textColumns(text: string): number {
  if (ascii.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of characters.segment(text.replace(colour, ""))) {
    columns += characterColumns(segment);
  }
  return columns;
}

/** The text in two: as much as fits, and the rest. Not for texts with colours. */
function splitAtColumn(text: string, columns: number): readonly [string, string] {
  if (ascii.test(text)) return [text.slice(0, columns), text.slice(columns)];
  let taken = 0;
  for (const { segment, index } of characters.segment(text)) {
    taken += characterColumns(segment);
    if (taken > columns) return [text.slice(0, index), text.slice(index)];
  }
  return [text, ""];
}

/** Cut with `…` at its end when it is too long. */
export function cutText(text: string, columns: number): string {
  if (textColumns(text) <= columns) return text;
  return columns < 1 ? "" : `${splitAtColumn(text, columns - 1)[0]}…`;
}

/** Exactly so wide: cut, or filled up behind. */
export function leftText(text: string, columns: number): string {
  const cut = cutText(text, columns);
  return cut + " ".repeat(columns - textColumns(cut));
}

/** Exactly so wide: cut, or filled up before. */
export function rightText(text: string, columns: number): string {
  const cut = cutText(text, columns);
  return " ".repeat(columns - textColumns(cut)) + cut;
}

function characterColumns(character: string): number {
  if (wide.test(character)) return 2;
  return invisible.test(character) ? 0 : 1;
}

// Text broken into lines of a width, at spaces. Pure; used by whoever writes sentences to a terminal.

interface Wrapping {
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

/** Narrower tables would break, wider ones are hard to read. */
const reportMin = 80;
const reportMax = 120;

/** The width of a report with tables. */
export function reportColumns({ columns }: Pick<Terminal, "columns">, max = reportMax): number {
  return Math.max(reportMin, Math.min(columns, max));
}
