// Whether a process runs. One that ends loses its command line first, and keeps its number until
// somebody takes note, which is up to the machine and not to what is tested.
import { readFileSync } from "node:fs";

export function isRunning(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8") !== "";
  } catch {
    // There is none of that number.
    return false;
  }
}
