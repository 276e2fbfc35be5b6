// Numbers with their noun, for sentences of findings.

/** `1 line`, `3 lines`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
