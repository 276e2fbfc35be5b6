// How many columns of a terminal a text takes, and texts made to fit. Names of contexts may be in any
// script: a wide character takes two columns, a mark on another character none. Pure.

/** East Asian wide and full-width forms, and emoji: the ranges that terminals draw two columns wide. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;

const markOnly = /\p{Mn}|\p{Me}/u;

const ascii = /^[\x20-\x7e]*$/;

export function textColumns(text: string): number {
  if (ascii.test(text)) return text.length;
  let columns = 0;
  for (const character of text) columns += characterColumns(character);
  return columns;
}

/** Cut with `…` at its end when it is too long. */
export function cutText(text: string, columns: number): string {
  if (textColumns(text) <= columns) return text;
  let kept = "";
  let taken = 1;
  for (const character of text) {
    taken += characterColumns(character);
    if (taken > columns) break;
    kept += character;
  }
  return columns < 1 ? "" : `${kept}…`;
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
  if (markOnly.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}
