// Writes a recording to a file that stays bounded and can be read after a crash at any moment: lines
// are appended in batches, and when the file has grown by half the limit it becomes `FILE.1` and a
// new one begins with all that is known, so that the newest file alone is enough.
import type { Environment } from "../environment/environment.ts";
import type { CancelTimer } from "../environment/timers.ts";
import { Anonymizer } from "./anonymizer.ts";
import { runLine } from "./recording-line.ts";
import type { WatchedRun } from "./watched-run.ts";

export interface RecordingWriterOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly files: Pick<Environment["files"], "append" | "rename" | "size" | "write">;
  /** Absolute. */
  readonly path: string;
  /** Of the file and the one before it together, beside what a new file begins with. */
  readonly maxBytes: number;
  /** The known state, as lines, for the beginning of a new file. */
  readonly baseline: () => readonly string[];
  /** The content of the header about the run. */
  readonly run: { readonly name: string; readonly watched: WatchedRun };
  /** Names and addresses are replaced before anything is written. */
  readonly anonymize?: boolean | undefined;
}

/** Weeks of a cluster with a few hundred changes an hour, days of a busy one. */
export const defaultRecordingBytes = 256 * 1024 * 1024;
export const leastRecordingBytes = 1024 * 1024;

/** A crash loses what was not written for so long. */
const flushAfterMs = 200;

/** A burst is written in pieces of this size; V8 joins that much in a moment. */
const batchLines = 5_000;

/** While the disk refuses, so much is kept; then the oldest lines go, and are counted. */
const waitingMax = 200_000;

/** A disk that was full may have room again. */
const retryMs = 5_000;

const newline = 0x0a;

export class RecordingWriter {
  readonly #options: RecordingWriterOptions;
  /** Not those that are being appended. */
  #waiting: string[] = [];
  #cancel: CancelTimer | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** Whether the file at hand has what a file begins with; until then nothing else goes there. */
  #isBegun = true;
  /** Whether the file may end with half a line, which the next one must not become part of. */
  #isTorn = false;
  /** Of the file at hand, and what of it the file began with. */
  #bytes = 0;
  #baselineBytes = 0;
  #dropped = 0;
  #hasFailed = false;
  #isStopped = false;
  readonly #anonymizer: Anonymizer | undefined;

  constructor(options: RecordingWriterOptions) {
    this.#options = options;
    const { random, anonymize = false } = options;
    this.#anonymizer = anonymize ? new Anonymizer(random.uuid() + random.uuid()) : undefined;
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
    this.#isTorn = this.#bytes > 0;
    const content = this.#contentOf([this.#header()]);
    await files.append(path, content);
    this.#appended(content);
  }

  add(line: string): void {
    if (this.#isStopped) return;
    this.#waiting.push(this.#written(line));
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
    this.#dropped += this.#waiting.length;
    this.#waiting = [];
  }

  #flushLater(): void {
    this.#cancel = undefined;
    this.#writing = this.#writing.then(() => this.#flush());
  }

  async #flush(): Promise<void> {
    const { log, timers, path } = this.#options;
    try {
      if (!this.#isBegun) await this.#begin();
      while (this.#waiting.length > 0) await this.#appendBatch();
      if (this.#bytes > this.#baselineBytes + this.#options.maxBytes / 2) await this.#rotate();
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) log.error("the recording cannot be written", { path, error });
      this.#hasFailed = true;
      if (!this.#isStopped) this.#cancel ??= timers.after(retryMs, () => this.#flushLater());
    }
  }

  async #rotate(): Promise<void> {
    const { files, path } = this.#options;
    await files.rename(path, `${path}.1`);
    this.#isBegun = false;
    await this.#begin();
  }

  /** All at once: a file that has its beginning has the whole of it. */
  async #begin(): Promise<void> {
    const { files, path, baseline } = this.#options;
    const content = Buffer.from(
      `${[this.#header(), ...baseline().map((line) => this.#written(line))].join("\n")}\n`,
    );
    await files.write(path, content);
    this.#isBegun = true;
    this.#isTorn = false;
    this.#bytes = content.length;
    this.#baselineBytes = content.length;
  }

  async #appendBatch(): Promise<void> {
    const { files, path } = this.#options;
    const batch = this.#waiting.splice(0, batchLines);
    const content = this.#contentOf(batch);
    try {
      await files.append(path, content);
    } catch (error) {
      this.#waitAgain(batch.slice(await this.#linesWritten(content)));
      throw error;
    }
    this.#appended(content);
  }

  #contentOf(lines: readonly string[]): Buffer {
    return Buffer.from(`${this.#isTorn ? "\n" : ""}${lines.join("\n")}\n`);
  }

  #appended(content: Buffer): void {
    this.#isTorn = false;
    this.#bytes += content.length;
  }

  /** A disk that fills up takes a part: how many whole lines of it are in the file. */
  async #linesWritten(content: Buffer): Promise<number> {
    const { files, path } = this.#options;
    // If even the size is unknown, all of it is written again.
    const bytes = await files.size(path).catch(() => undefined);
    if (bytes === this.#bytes) return 0;
    const written = content.subarray(0, Math.max(0, (bytes ?? 0) - this.#bytes));
    const lineEnds = written.filter((byte) => byte === newline).length;
    const ownEnds = Math.max(0, this.#isTorn ? lineEnds - 1 : lineEnds);
    this.#isTorn = written.at(-1) !== newline;
    this.#bytes += written.length;
    return ownEnds;
  }

  #waitAgain(lines: readonly string[]): void {
    const all = [...lines, ...this.#waiting];
    const tooMany = Math.max(0, all.length - waitingMax);
    this.#waiting = all.slice(tooMany);
    this.#dropped += tooMany;
  }

  #written(line: string): string {
    return this.#anonymizer === undefined ? line : (this.#anonymizer.line(line) ?? "");
  }

  #header(): string {
    const { clock, run } = this.#options;
    const { name, watched } = run;
    return this.#written(runLine({ atMs: clock.wallMs(), run: name, watched }));
  }
}
