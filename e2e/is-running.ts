// Whether a process runs. An ending process loses its command line first, and keeps its number
// until its parent reaps it. The time of that depends on the machine, not on the tested program.
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
