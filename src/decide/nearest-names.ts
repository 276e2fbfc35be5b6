// Of many names those that were probably meant: they differ from it in the fewest letters.

/** With more than a third of the letters changed, it is another word. */
const mostChangedShare = 1 / 3;

/** More would not help to choose. */
const mostNames = 5;

/** Nearest first; none when nothing is near: more than this share of the letters differs. */
export function nearestNames(
  meant: string,
  names: Iterable<string>,
  share = mostChangedShare,
): readonly string[] {
  const most = (name: string) => Math.max(meant.length, name.length) * share;
  return [...names]
    .filter((name) => Math.abs(meant.length - name.length) <= most(name))
    .map((name) => ({ name, changed: changedLetters(meant.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, changed }) => changed <= most(name))
    .sort((one, other) => one.changed - other.changed)
    .slice(0, mostNames)
    .map(({ name }) => name);
}

/** Levenshtein's distance. */
function changedLetters(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of one.split("").entries()) {
    const next = [index + 1];
    for (const [column, otherLetter] of other.split("").entries()) {
      const replaced = (row[column] ?? 0) + (letter === otherLetter ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
