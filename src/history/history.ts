// The history of journeys: keeps them in a file that outlives the observer. Adding never waits and
// never fails; journeys are written in batches by a thread of their own, and one is acknowledged
// when its batch is on the disk. What cannot be written waits, within bounds; what is dropped is
// counted. A journey may be added again as it goes on: the last word counts.
import { type MonotonicMs, monotonicAfter } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import { FilesError } from "../environment/files.ts";
import type { CancelTimer } from "../environment/timers.ts";
import type { JourneyRecord } from "../journeys/journey-record.ts";
import { HistoryConnection, HistoryThreadError } from "./history-connection.ts";
import { HistoryError } from "./history-error.ts";
import { prepareHistory } from "./history-place.ts";
import type { HistoryAnswer, StartHistoryThread } from "./history-port.ts";
import {
  defaultRetention,
  leastSizeBytes,
  logEmptiedAtBytes,
  type Retention,
} from "./history-retention.ts";
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

export class History {
  readonly #options: HistoryOptions;
  readonly #retention: Retention;
  readonly #connection: HistoryConnection;
  readonly #queue = new RecordQueue();
  readonly #counts = { added: 0, committed: 0, dropped: 0, removed: 0 };
  readonly #trouble: WriteTrouble;
  #tidyAt: MonotonicMs;
  /** Set by closing: what is not written by then is dropped. */
  #closeBy: MonotonicMs | undefined;
  #working: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #wake: () => void = () => undefined;

  private constructor(options: HistoryOptions) {
    this.#options = options;
    this.#retention = { ...defaultRetention, ...options.retention };
    this.#trouble = new WriteTrouble(options);
    this.#connection = new HistoryConnection(options.startThread ?? startHistoryThread);
    this.#tidyAt = options.clock.monotonicMs();
  }

  /** Rejects with a `HistoryError` that says what is wrong with the file. */
  static async open(options: HistoryOptions): Promise<History> {
    const { retention } = options;
    if ((retention?.sizeMaxBytes ?? leastSizeBytes) < leastSizeBytes) {
      const least = `${leastSizeBytes / 1024 / 1024} MiB`;
      throw new HistoryError("CANNOT_OPEN", `a history needs room: give it ${least} or more`);
    }
    const undo = await prepareHistory(options);
    const history = new History(options);
    try {
      await history.#openFile();
    } catch (error) {
      await history.#connection.end();
      // Where somebody else writes it, the files that are new are not ours.
      if (error instanceof HistoryError && error.code === "CANNOT_OPEN") {
        // Why it cannot be opened says more than what then could not be removed either.
        await undo().catch((reason: unknown) =>
          options.log.warn("what was begun of a history is left behind", { error: reason }),
        );
      }
      throw error;
    }
    history.#working = history.#work();
    return history;
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
    if (!this.#trouble.isFinal) await this.#ask(() => this.#connection.ask({ type: "close" }));
    await this.#connection.end();
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
    const { files, path, onCommitted } = this.#options;
    const batch = this.#queue.batch();
    const answer = await this.#ask(async () => {
      if ((await files.size(path)) === undefined) await this.#beginAnew();
      const logBytes = (await files.size(`${path}-wal`)) ?? 0;
      return this.#connection.ask({
        type: "write",
        batch: batch.map(({ json }) => json),
        emptyLog: logBytes > logEmptiedAtBytes(this.#retention),
      });
    });
    if (answer?.type === "refused") this.#trouble.refused(answer.message);
    if (answer?.type !== "written") return;
    this.#counts.committed += batch.length;
    this.#counts.removed += answer.removed;
    this.#trouble.over(this.#counts.dropped);
    onCommitted?.(batch.map(({ id }) => id));
    this.#queue.remove(batch.length);
  }

  /** What is refused here is tried again a minute later: batches make room for themselves. */
  async #tidy(): Promise<void> {
    const { clock } = this.#options;
    const nowMs = clock.wallMs();
    const answer = await this.#ask(() => this.#connection.ask({ type: "tidy", nowMs }));
    const isMore = answer?.type === "tidied" && answer.more;
    if (answer?.type === "tidied") this.#counts.removed += answer.removed;
    this.#tidyAt = monotonicAfter(clock.monotonicMs(), isMore ? 0 : tidyEveryMs);
  }

  /** Undefined when there is no answer any more, or none yet, and then the trouble is known. */
  async #ask(ask: () => Promise<HistoryAnswer>): Promise<HistoryAnswer | undefined> {
    try {
      const answer = await ask();
      if (answer.type !== "refused" || answer.refusal !== "damaged") return answer;
      this.#trouble.broken(answer.message);
    } catch (error) {
      if (error instanceof FilesError) this.#trouble.refused(error.message);
      else if (isEnd(error)) this.#trouble.broken(error.message);
      else throw error;
    }
    return undefined;
  }

  async #openFile(): Promise<void> {
    const { path, processes, clock, log } = this.#options;
    const options = { path, retention: this.#retention, pid: processes.pid, nowMs: clock.wallMs() };
    const answer = await this.#connection.ask({ type: "open", options });
    if (answer.type === "not opened") throw new HistoryError(answer.code, answer.message);
    if (answer.type !== "opened" || answer.leftPending === 0) return;
    log.info("journeys were pending when the observer ended; what became of them is unknown", {
      journeys: answer.leftPending,
    });
  }

  /** Somebody removed the file: what would be written to it nobody could read. */
  async #beginAnew(): Promise<void> {
    this.#options.log.warn("the history was removed and begins anew", { path: this.#options.path });
    await this.#connection.ask({ type: "close" });
    await this.#openFile();
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

function isEnd(error: unknown): error is Error {
  return error instanceof HistoryThreadError || error instanceof HistoryError;
}
