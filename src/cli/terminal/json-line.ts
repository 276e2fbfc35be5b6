// JSON lines that are safe on a terminal: control characters are written as escapes, with the same
// meaning.

/** Not escaped by JSON: control characters above ASCII, marks of direction, other line ends. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** One line without a newline. */
export function jsonLine(value: object): string {
  return JSON.stringify(value).replace(hidden, escaped);
}

/** A character beyond 65,535 has two escapes. */
function escaped(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
