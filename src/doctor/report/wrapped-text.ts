// Text broken into lines of a width, at spaces. Pure; used by whoever writes sentences to a terminal.

export interface Wrapping {
  readonly width: number;
  /** Before the first line, and before the others. */
  readonly first?: string;
  readonly rest?: string;
}

/** Of the text on a line, however narrow the terminal is beside what stands before it. */
const leastWidth = 1;

const colour = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, "g");

/** Breaks at spaces; a word longer than a line is cut rather than lost. */
export function wrapText(
  text: string,
  { width, first = "", rest = "" }: Wrapping,
): readonly string[] {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  const longest = Math.max(leastWidth, width - rest.length);
  for (const word of text.split(" ").flatMap((one) => pieces(one, longest))) {
    if (!isEmpty && lengthOf(line) + 1 + lengthOf(word) > width) {
      lines.push(line);
      line = rest;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line];
}

/** As it is seen. */
function lengthOf(text: string): number {
  return text.replace(colour, "").length;
}

/** None of an empty word: several spaces are one. */
function pieces(word: string, width: number): readonly string[] {
  if (word !== "" && lengthOf(word) <= width) return [word];
  const parts: string[] = [];
  for (let at = 0; at < word.length; at += width) parts.push(word.slice(at, at + width));
  return parts;
}
