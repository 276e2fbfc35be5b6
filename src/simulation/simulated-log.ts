// The log of a simulated run: every line of every process in order, the newest kept for tests to
// read, all of them in the trace. Decisions are logged, so a run that decides otherwise has another
// hash.
import { assert } from "../environment/assert.ts";
import type { Log, LogFields } from "../environment/log.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Trace } from "./trace.ts";
import type { VirtualTime } from "./virtual-time.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

export interface LogLine {
  readonly atMs: number;
  readonly host: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/** Enough to read what led to a failure; a run of days would fill the memory otherwise. */
const maxLines = 10_000;

export class SimulatedLogs {
  readonly #time: VirtualTime;
  readonly #trace: Trace;
  /** Invariant: fewer than twice maxLines; the oldest are cut when it is full. */
  readonly #lines: LogLine[] = [];

  constructor(options: { time: VirtualTime; trace: Trace }) {
    this.#time = options.time;
    this.#trace = options.trace;
  }

  /** The newest lines, oldest first. */
  lines(): readonly LogLine[] {
    return this.#lines.slice(-maxLines);
  }

  logOf(process: SimulatedProcess): Log {
    return new SimulatedLog(this, process, {});
  }

  write(process: SimulatedProcess, level: LogLevel, message: string, fields: LogFields): void {
    if (process.ended || this.#time.finished) return;
    const atMs = this.#time.nowMs;
    const { host } = process;
    const text = `${level} ${message} ${JSON.stringify(fields, repeatable)}`;
    this.#trace.add("log", atMs, host.index, process.pid, text);
    this.#lines.push({ atMs, host: host.name, level, message, fields });
    if (this.#lines.length >= 2 * maxLines) this.#lines.splice(0, maxLines);
    assert(this.#lines.length < 2 * maxLines, "kept log lines are bounded");
  }
}

class SimulatedLog implements Log {
  readonly #logs: SimulatedLogs;
  readonly #process: SimulatedProcess;
  readonly #fields: LogFields;

  constructor(logs: SimulatedLogs, process: SimulatedProcess, fields: LogFields) {
    this.#logs = logs;
    this.#process = process;
    this.#fields = fields;
  }

  debug(message: string, fields?: LogFields): void {
    this.#write("debug", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#write("info", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#write("warn", message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#write("error", message, fields);
  }

  child(fields: LogFields): Log {
    return new SimulatedLog(this.#logs, this.#process, { ...this.#fields, ...fields });
  }

  #write(level: LogLevel, message: string, fields: LogFields | undefined): void {
    this.#logs.write(this.#process, level, message, { ...this.#fields, ...fields });
  }
}

/** Errors without their stacks, which name files and so differ between machines. */
function repeatable(_key: string, value: unknown): unknown {
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (typeof value === "bigint") return value.toString();
  return value;
}
