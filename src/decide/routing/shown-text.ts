// Texts of objects as messages show them: on one line, not too long, and never mistaken for ours.

/** Enough to recognise it. */
const shownLength = 60;

/** Always between quotes. */
export function shown(text: string): string {
  const cut = text.length > shownLength ? `${text.slice(0, shownLength)}…` : text;
  return visible(JSON.stringify(cut));
}

/** The whole of it, with what a terminal would obey or hide spelled out. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}

/**
 * Characters that JSON keeps and a terminal interprets: controls, marks of direction, line ends.
 */
function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

/** As it is, if it is an ordinary word; else between quotes. */
export function plain(text: string): string {
  return /^[\x21-\x7e]{1,100}$/.test(text) ? text : shown(text);
}
