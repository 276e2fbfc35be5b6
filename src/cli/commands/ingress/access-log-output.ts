// Prints nginx's access log. nginx writes to a short file, so that no request waits for a slow
// reader of standard output. Lines for which there is no room are dropped, counted and reported.
import type { Counter } from "prom-client";
import { lineBytesMax } from "../../../access-log/access-log-parser.ts";
import { AccessLogFileError, followFile } from "../../../access-log/file-chunks.ts";
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import type { Environment } from "../../../environment/environment.ts";
import { FilesError } from "../../../environment/files.ts";
import type { Terminal } from "../../../environment/terminal.ts";

export interface AccessLogOutputOptions
  extends Pick<Environment, "clock" | "timers" | "files" | "log"> {
  readonly terminal: Pick<Terminal, "write" | "pendingBytes">;
  readonly path: string;
  readonly dropped: Counter;
}

/** A second of lines at the highest rate (proxy/lua/lockstep/access_log.lua). */
export const pendingMaxBytes = 1024 * 1024;

/** Interval of reports about a slow reader. */
const reportEveryMs = 10_000;

/** Wait before an unreadable file is tried again. */
const retryMs = 5_000;

const newline = 0x0a;

export class AccessLogOutput {
  readonly #options: AccessLogOutputOptions;
  #from: "start" | "end";
  /** The start of an unfinished line. */
  #rest: Buffer = Buffer.alloc(0);
  /** Lines dropped since the last report. */
  #dropped = 0;
  #reportedAt: MonotonicMs | undefined;

  private constructor(options: AccessLogOutputOptions, from: "start" | "end") {
    this.#options = options;
    this.#from = from;
  }

  /** Lines that are already in the file belong to an earlier run. */
  static async open(options: AccessLogOutputOptions): Promise<AccessLogOutput> {
    const isNew = (await options.files.size(options.path)) === undefined;
    return new AccessLogOutput(options, isNew ? "start" : "end");
  }

  /** Runs until the signal aborts. An unreadable log never ends the ingress. */
  async run(signal: AbortSignal): Promise<void> {
    const { files, timers, path, log } = this.#options;
    while (!signal.aborted) {
      try {
        const from = this.#from;
        for await (const chunk of followFile({ files, timers, path, from, signal })) {
          this.#from = "end";
          this.#push(Buffer.from(chunk));
        }
      } catch (error) {
        if (!(error instanceof FilesError || error instanceof AccessLogFileError)) throw error;
        log.warn("cannot read the access log, retrying", { reason: error.message });
        await timers.sleep(retryMs, signal).catch(() => undefined);
      }
    }
  }

  #push(chunk: Buffer): void {
    const bytes = Buffer.concat([this.#rest, chunk]);
    const end = bytes.lastIndexOf(newline) + 1;
    this.#print(bytes.subarray(0, end));
    const rest = bytes.subarray(end);
    // Longer than any line of nginx, so it is dropped to save memory.
    this.#rest = rest.length > lineBytesMax ? Buffer.alloc(0) : rest;
  }

  /** Whole lines, or a single newline at the start of a new file. */
  #print(lines: Buffer): void {
    if (lines.length <= 1) return;
    const { terminal } = this.#options;
    if (terminal.pendingBytes <= pendingMaxBytes) {
      terminal.write(lines.toString("utf8"));
    } else {
      this.#drop(lines.reduce((count, byte) => (byte === newline ? count + 1 : count), 0));
    }
    this.#report();
  }

  #drop(lines: number): void {
    this.#dropped += lines;
    this.#options.dropped.inc(lines);
  }

  #report(): void {
    const { clock, log } = this.#options;
    const now = clock.monotonicMs();
    const since = this.#reportedAt;
    if (this.#dropped === 0) return;
    if (since !== undefined && elapsedMs(since, now) < reportEveryMs) return;
    log.warn("access log lines were dropped: standard output is read too slowly", {
      lines: this.#dropped,
    });
    this.#dropped = 0;
    this.#reportedAt = now;
  }
}
