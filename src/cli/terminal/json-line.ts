// JSON for machines that a person may see all the same: it means the same, and what a terminal would
// obey or hide is written as an escape.

/** What JSON leaves as it is: controls above ASCII, marks of direction, other ends of lines. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** On one line, without its end. */
export function jsonLine(value: object): string {
  return JSON.stringify(value).replace(hidden, escaped);
}

/** A character beyond the first 65,536 has two escapes. */
function escaped(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
