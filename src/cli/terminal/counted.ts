// A number with what it counts: `1 request`, `1,200 requests`.
import { numberText } from "./value-text.ts";

export function counted(count: number, one: string): string {
  return `${numberText(count)} ${one}${count === 1 ? "" : "s"}`;
}
