// What a listener answers, fit for the terminal of whoever asks with curl: names of objects may hold
// characters by which a terminal is moved, coloured or cleared. Each is spelled out as its format has
// it, so that programs read the same as before or, where the format has no way, its code.

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
