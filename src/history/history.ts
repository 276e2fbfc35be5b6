// The history of journeys: keeps them in a file that outlives the observer. Adding never waits and
// never fails; journeys are written in batches by a thread of their own, and one is acknowledged
// when its batch is on the disk. If writes fail, journeys wait, within bounds; dropped ones are
// counted. A journey may be added again as it continues: the last version counts.
import { type MonotonicMs, monotonicAfter } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import { FilesError } from "../environment/files.ts";
import type { CancelTimer } from "../environment/timers.ts";
import type { JourneyRecord } from "../timeline/journey-record.ts";
import { HistoryThreadError } from "./history-connection.ts";
import { HistoryError, type HistoryErrorCode } from "./history-error.ts";
import { HistoryFile } from "./history-file.ts";
import type { HistoryAnswer, StartHistoryThread } from "./history-port.ts";
import { defaultRetention, leastSizeBytes, type Retention } from "./history-retention.ts";
import { batchMax, RecordQueue } from "./record-queue.ts";
import { startHistoryThread } from "./start-history-thread.ts";
import { WriteTrouble } from "./write-trouble.ts";

export interface HistoryOptions
  extends Pick<Environment, "clock" | "timers" | "files" | "processes" | "log"> {
  readonly path: string;
  readonly retention?: Partial<Retention>;
  /** Called with the ids of each batch when it is on the disk. */
  readonly onCommitted?: (ids: readonly string[]) => void;
  readonly startThread?: StartHistoryThread;
}

export interface HistoryCounts {
  readonly added: number;
  /** On the disk, each as often as it was added. */
  readonly committed: number;
  /** Found no room while the file could not be written. */
  readonly dropped: number;
  /** Went because of their age, or for newer ones. */
  readonly removed: number;
}

/** A person who looks sees what happened just now, and a thousand changes make five batches. */
const batchAfterMs = 200;

/** Age is counted in days. */
const tidyEveryMs = 60_000;

/** How long closing waits for a disk that refuses. */
const closeWithinMs = 5_000;

/** Why a file that was removed may not be made again yet. */
const passingCodes: readonly HistoryErrorCode[] = ["CANNOT_OPEN", "IN_USE"];

export class History {
  readonly #options: HistoryOptions;
  readonly #file: HistoryFile;
  readonly #queue = new RecordQueue();
  readonly #counts = { added: 0, committed: 0, dropped: 0, removed: 0 };
  readonly #trouble: WriteTrouble;
  #left: readonly JourneyRecord[] = [];
  #tidyAt: MonotonicMs;
  /** Set by closing: journeys that are not written by then are dropped. */
  #closeBy: MonotonicMs | undefined;
  #working: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #wake: () => void = () => undefined;

  private constructor(options: HistoryOptions) {
    this.#options = options;
    this.#trouble = new WriteTrouble(options);
    const retention = { ...defaultRetention, ...options.retention };
    this.#file = new HistoryFile({ startThread: startHistoryThread, ...options, retention });
    this.#tidyAt = options.clock.monotonicMs();
  }

  /** Rejects with a `HistoryError` that says what is wrong with the file. */
  static async open(options: HistoryOptions): Promise<History> {
    const { retention } = options;
    if ((retention?.sizeMaxBytes ?? leastSizeBytes) < leastSizeBytes) {
      const least = `${leastSizeBytes / 1024 / 1024} MiB`;
      throw new HistoryError("CANNOT_OPEN", `the history needs at least ${least}`);
    }
    const history = new History(options);
    try {
      history.#left = await history.#file.open();
    } catch (error) {
      await history.#file.end();
      throw error;
    }
    history.#working = history.#work();
    return history;
  }

  /** The journeys that were pending when the last run ended, the oldest first. */
  get left(): readonly JourneyRecord[] {
    return this.#left;
  }

  get counts(): HistoryCounts {
    return { ...this.#counts };
  }

  /** Added and neither on the disk nor dropped. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Why nothing can be written at present; undefined when all is well. */
  get trouble(): string | undefined {
    return this.#trouble.reason;
  }

  add(record: JourneyRecord): void {
    const { clock } = this.#options;
    this.#counts.added += 1;
    const waiting = { id: record.id, json: JSON.stringify(record), addedAt: clock.monotonicMs() };
    const isTaken =
      !this.#trouble.isFinal && this.#closing === undefined && this.#queue.add(waiting);
    if (!isTaken) this.#counts.dropped += 1;
    else if (this.#queue.size === 1 || this.#queue.size === batchMax) this.#wake();
  }

  /** Resolves when everything that was added before is on the disk or dropped. */
  flush(): Promise<void> {
    const flushed = this.#queue.flushed();
    this.#wake();
    return flushed;
  }

  /** Writes what waits, for some seconds if it must be. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#closeBy = monotonicAfter(this.#options.clock.monotonicMs(), closeWithinMs);
    this.#wake();
    await this.#working;
    if (!this.#trouble.isFinal) await this.#ask(() => this.#file.close());
    await this.#file.end();
  }

  async #work(): Promise<void> {
    for (;;) {
      const now = this.#options.clock.monotonicMs();
      if (this.#isOver(now)) return this.#drop();
      if (this.#batchAt(now) <= now) await this.#writeBatch();
      else if (this.#tidyAt <= now) await this.#tidy();
      else {
        const closeBy = this.#closeBy ?? Number.POSITIVE_INFINITY;
        await this.#rest(Math.min(this.#batchAt(now), this.#tidyAt, closeBy) - now);
      }
    }
  }

  #isOver(now: MonotonicMs): boolean {
    if (this.#trouble.isFinal) return true;
    return this.#closeBy !== undefined && (this.#queue.size === 0 || now >= this.#closeBy);
  }

  /** When the next batch is to be written. */
  #batchAt(now: MonotonicMs): number {
    const { oldestAt, size } = this.#queue;
    if (oldestAt === undefined) return Number.POSITIVE_INFINITY;
    if (this.#trouble.retryAt !== undefined) return this.#trouble.retryAt;
    const isWanted = size >= batchMax || this.#queue.isAwaited || this.#closeBy !== undefined;
    return isWanted ? now : oldestAt + batchAfterMs;
  }

  async #writeBatch(): Promise<void> {
    const batch = this.#queue.batch();
    const answer = await this.#ask(() => this.#file.write(batch.map(({ json }) => json)));
    if (answer?.type === "refused") this.#trouble.refused(answer.message);
    if (answer?.type !== "written") return;
    this.#counts.committed += batch.length;
    this.#counts.removed += answer.removed;
    this.#trouble.over(this.#counts.dropped);
    this.#options.onCommitted?.(batch.map(({ id }) => id));
    this.#queue.remove(batch.length);
  }

  /** A refusal here is retried a minute later: batches make room for themselves. */
  async #tidy(): Promise<void> {
    const answer = await this.#ask(() => this.#file.tidy());
    const isMore = answer?.type === "tidied" && answer.more;
    if (answer?.type === "tidied") this.#counts.removed += answer.removed;
    const now = this.#options.clock.monotonicMs();
    this.#tidyAt = monotonicAfter(now, isMore ? 0 : tidyEveryMs);
  }

  /** Undefined when there is no answer any more, or none yet, and then the trouble is known. */
  async #ask(ask: () => Promise<HistoryAnswer>): Promise<HistoryAnswer | undefined> {
    try {
      const answer = await ask();
      if (answer.type !== "refused" || answer.refusal !== "damaged") return answer;
      this.#trouble.broken(answer.message);
    } catch (error) {
      if (isPassing(error)) this.#trouble.refused(error.message);
      else if (isEnd(error)) this.#trouble.broken(error.message);
      else throw error;
    }
    return undefined;
  }

  /** Gives up what waits. */
  #drop(): void {
    this.#counts.dropped += this.#queue.size;
    this.#queue.remove(this.#queue.size);
  }

  async #rest(ms: number): Promise<void> {
    let cancel: CancelTimer = () => undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (Number.isFinite(ms)) cancel = this.#options.timers.after(ms, resolve);
    });
    cancel();
  }
}

/** A full disk or a missing folder: it may be written later. */
function isPassing(error: unknown): error is Error {
  if (error instanceof FilesError) return true;
  return error instanceof HistoryError && passingCodes.includes(error.code);
}

function isEnd(error: unknown): error is Error {
  return error instanceof HistoryThreadError || error instanceof HistoryError;
}
