// Writes a recording to a file that stays bounded and can be read after a crash at any moment: lines
// are appended in batches, and when the file has grown by half the limit it becomes `FILE.1` and a
// new one begins with all that is known, so that the newest file alone is enough.
import type { Environment } from "../environment/environment.ts";
import type { CancelTimer } from "../environment/timers.ts";
import { runLine } from "./recording-line.ts";

export interface RecordingWriterOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly files: Pick<Environment["files"], "append" | "rename" | "size">;
  /** Absolute. */
  readonly path: string;
  /** Of the file and the one before it together, beside what a new file begins with. */
  readonly maxBytes: number;
  /** All that is known now, as lines: what a new file begins with. */
  readonly baseline: () => readonly string[];
}

/** A crash loses what was not written for so long. */
const flushAfterMs = 200;

/** A burst is written in pieces of this size; V8 joins that much in a moment. */
const batchLines = 5_000;

/** While the disk refuses, so much is kept; then the oldest lines go, and are counted. */
const waitingMax = 200_000;

/** A disk that was full may have room again. */
const retryMs = 5_000;

export class RecordingWriter {
  readonly #options: RecordingWriterOptions;
  #waiting: string[] = [];
  #cancel: CancelTimer | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** Of the file at hand, and what of it the file began with. */
  #bytes = 0;
  #baselineBytes = 0;
  #dropped = 0;
  #hasFailed = false;
  #isStopped = false;

  constructor(options: RecordingWriterOptions) {
    this.#options = options;
  }

  /** Lines that could not be written. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Begins a run in the file, after whatever is there. Rejects with a `FilesError`. */
  async start(): Promise<void> {
    const { files, path } = this.#options;
    this.#bytes = (await files.size(path)) ?? 0;
    // A run that was killed may have left half a line.
    await this.#append(this.#bytes > 0 ? ["", this.#header()] : [this.#header()]);
  }

  add(line: string): void {
    if (this.#isStopped) return;
    this.#waiting.push(line);
    if (this.#waiting.length > waitingMax) {
      this.#waiting.shift();
      this.#dropped += 1;
    }
    this.#cancel ??= this.#options.timers.after(flushAfterMs, () => this.#flushLater());
  }

  /** Resolves when everything is written or refused. Idempotent. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    this.#flushLater();
    await this.#writing;
  }

  #flushLater(): void {
    this.#cancel = undefined;
    this.#writing = this.#writing.then(() => this.#flush());
  }

  async #flush(): Promise<void> {
    const { log, timers, path } = this.#options;
    try {
      while (this.#waiting.length > 0) {
        const batch = this.#waiting.slice(0, batchLines);
        await this.#append(batch);
        this.#waiting = this.#waiting.slice(batch.length);
      }
      if (this.#bytes > this.#baselineBytes + this.#options.maxBytes / 2) await this.#rotate();
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) log.error("the recording cannot be written", { path, error });
      this.#hasFailed = true;
      if (!this.#isStopped) this.#cancel ??= timers.after(retryMs, () => this.#flushLater());
    }
  }

  async #rotate(): Promise<void> {
    const { files, path, baseline } = this.#options;
    await files.rename(path, `${path}.1`);
    this.#bytes = 0;
    await this.#append([this.#header(), ...baseline()]);
    this.#baselineBytes = this.#bytes;
  }

  async #append(lines: readonly string[]): Promise<void> {
    const content = Buffer.from(`${lines.join("\n")}\n`);
    await this.#options.files.append(this.#options.path, content);
    this.#bytes += content.length;
  }

  #header(): string {
    const { clock, random } = this.#options;
    return runLine({ atMs: clock.wallMs(), run: random.uuid() });
  }
}
