// The cost of processes from /proc: processor time and memory.
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** USER_HZ, in which /proc counts, is 100 on every Linux there is. */
const microsecondsPerTick = 10_000;

/** Where user and system time are in /proc/PID/stat, after the name in parentheses. */
const userTime = 11;
const systemTime = 12;

/** Processor time so far, user and system. */
export function cpuMicroseconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[userTime]) + Number(fields[systemTime])) * microsecondsPerTick;
}

/** The same for a process of one thread, to the nanosecond where the system counts them. */
export function threadMicroseconds(pid: number): number {
  const path = `/proc/${pid}/schedstat`;
  if (!existsSync(path)) return cpuMicroseconds(pid);
  return Number(readFileSync(path, "utf8").split(" ")[0]) / 1000;
}

/** Memory of the process at this moment. */
export function residentMegabytes(pid: number): number {
  return megabytes(`/proc/${pid}/status`, /^VmRSS:\s+(\d+) kB$/m);
}

/** The most that it has had at any moment. */
export function peakMegabytes(pid: number): number {
  return megabytes(`/proc/${pid}/status`, /^VmHWM:\s+(\d+) kB$/m);
}

/** Memory now, with a share of what it has in common with others. */
export function proportionalMegabytes(pid: number): number {
  return megabytes(`/proc/${pid}/smaps_rollup`, /^Pss:\s+(\d+) kB$/m);
}

/** How many file descriptors the process has open. */
export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

export function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return text.split(" ").filter(Boolean).map(Number);
}

function megabytes(path: string, field: RegExp): number {
  const [, kilobytes = "0"] = field.exec(readFileSync(path, "utf8")) ?? [];
  return (Number(kilobytes) * 1024) / 1e6;
}
