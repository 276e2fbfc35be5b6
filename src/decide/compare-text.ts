// The order of texts by code unit, which is the same wherever the program runs.

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
