// Numbers with their noun, for texts for people.

/** `1 request`, `1,200 requests`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}
