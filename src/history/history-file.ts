// The history's file in its thread: opened, and opened again after it was removed. Invariant:
// without an open file, the thread gets no request but to open one.
import type { Environment } from "../environment/environment.ts";
import type { JourneyRecord } from "../timeline/journey-record.ts";
import { HistoryConnection } from "./history-connection.ts";
import { HistoryError } from "./history-error.ts";
import { prepareHistory } from "./history-place.ts";
import type { HistoryAnswer, StartHistoryThread } from "./history-port.ts";
import { logEmptiedAtBytes, type Retention } from "./history-retention.ts";

export interface HistoryFileOptions
  extends Pick<Environment, "clock" | "files" | "processes" | "log"> {
  readonly path: string;
  readonly retention: Retention;
  readonly startThread: StartHistoryThread;
}

export class HistoryFile {
  readonly #options: HistoryFileOptions;
  readonly #connection: HistoryConnection;
  #isOpen = false;

  constructor(options: HistoryFileOptions) {
    this.#options = options;
    this.#connection = new HistoryConnection(options.startThread);
  }

  /**
   * Resolves to the pending journeys of an earlier run, the oldest first. Rejects with a
   * `HistoryError` if it cannot be opened; new files are then removed.
   */
  async open(): Promise<readonly JourneyRecord[]> {
    const undo = await prepareHistory(this.#options);
    try {
      const left = await this.#askToOpen();
      this.#isOpen = true;
      return left;
    } catch (error) {
      // If another process writes it, the new files are not ours.
      if (error instanceof HistoryError && error.code === "CANNOT_OPEN") {
        // Why it cannot be opened says more than what then could not be removed either.
        await undo().catch((reason: unknown) =>
          this.#options.log.warn("an incomplete history file could not be removed", {
            error: reason,
          }),
        );
      }
      throw error;
    }
  }

  /** Each is a journey as JSON. Rejects as `open` does where the file has to be made again. */
  async write(batch: readonly string[]): Promise<HistoryAnswer> {
    const { files, path, retention } = this.#options;
    if ((await files.size(path)) === undefined) await this.#leaveRemoved();
    if (!this.#isOpen) await this.open();
    const logBytes = (await files.size(`${path}-wal`)) ?? 0;
    const emptyLog = logBytes > logEmptiedAtBytes(retention);
    return this.#connection.ask({ type: "write", batch, emptyLog });
  }

  /** Where no file is open there is nothing to tidy. */
  async tidy(): Promise<HistoryAnswer> {
    if (!this.#isOpen) return { type: "tidied", removed: 0, more: false };
    return this.#connection.ask({ type: "tidy", nowMs: this.#options.clock.wallMs() });
  }

  async close(): Promise<HistoryAnswer> {
    this.#isOpen = false;
    return this.#connection.ask({ type: "close" });
  }

  /** Ends the thread, whatever it does. */
  async end(): Promise<void> {
    await this.#connection.end();
  }

  /** Later writes to it could never be read. */
  async #leaveRemoved(): Promise<void> {
    if (!this.#isOpen) return;
    const { log, path } = this.#options;
    log.warn("the history file was removed; starting a new one", { path });
    await this.close();
  }

  async #askToOpen(): Promise<readonly JourneyRecord[]> {
    const { path, retention, processes, clock } = this.#options;
    const options = { path, retention, pid: processes.pid, nowMs: clock.wallMs() };
    const answer = await this.#connection.ask({ type: "open", options });
    if (answer.type === "not opened") throw new HistoryError(answer.code, answer.message);
    return answer.type === "opened" ? answer.left : [];
  }
}
