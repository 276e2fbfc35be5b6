// A listener's answers, made safe for a terminal with curl: names of objects may hold characters
// that move, colour or clear a terminal. Each is escaped as its format allows, so that programs
// read the same as before; if the format has no escape, its code is shown.

/** Controls, marks of direction and other ends of lines; lines themselves end as they did. */
const hidden = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** `metrics`: Prometheus takes two backslashes for one. */
export type AnswerFormat = "text" | "json" | "metrics";

export function spelledOut(text: string, format: AnswerFormat): string {
  return text.replace(hidden, (character) => {
    if (format === "json") return character.split("").map(jsonEscape).join("");
    const code = `u{${character.codePointAt(0)?.toString(16)}}`;
    return format === "metrics" ? `\\\\${code}` : `\\${code}`;
  });
}

/** Of half a character, where it is beyond the first 65,536. */
function jsonEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
