// A number with what it counts: `1 request`, `1,200 requests`.

export function counted(count: number, one: string): string {
  return `${count.toLocaleString("en-US")} ${one}${count === 1 ? "" : "s"}`;
}
