// A flag that may be given more than once: every value counts, in the order in which they came.

export function repeatable(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}
