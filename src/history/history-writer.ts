// The one writer of a history file, in whatever thread it runs: writes batches, keeps the bounds.
// When `write` has returned, the whole batch is in the file's log and on the disk (`synchronous =
// FULL`), so that neither kill -9 nor a power cut loses it.
import type { JourneyRecord } from "../timeline/journey-record.ts";
import { HistoryDatabase, sqliteCode } from "./history-database.ts";
import { HistoryError } from "./history-error.ts";
import { HistoryRetention, type Retention, type RetentionStep } from "./history-retention.ts";
import { checkOwned, damaged, upgrade } from "./history-schema.ts";
import { journeyRow, upsertSql } from "./journey-row.ts";
import { keptRecord } from "./kept-record.ts";
import { WriterLock } from "./writer-lock.ts";

export interface HistoryWriterOptions {
  readonly path: string;
  readonly retention: Retention;
  /** Shown to a second process that wants to write. */
  readonly pid: number;
  readonly nowMs: number;
  /** How long to wait for another lock. */
  readonly busyTimeoutMs?: number;
}

/** Why a batch was not written. It may be later, except to a file that is damaged. */
export type Refusal = "no space" | "busy" | "held by a reader" | "failed" | "damaged";

export class HistoryWriteError extends Error {
  override readonly name = "HistoryWriteError";
  readonly code: Refusal;

  constructor(code: Refusal, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** How often room is made for one batch before it is given up: the batch is small, so it suffices. */
const makeRoomMax = 8;

/** Some megabytes. The oldest are what alerts are about. */
const leftMax = 5_000;

export class HistoryWriter {
  readonly #path: string;
  readonly #lock: WriterLock;
  readonly #database: HistoryDatabase;
  readonly #retention: HistoryRetention;
  /** Journeys that an earlier writer left pending, the oldest first. Their outcome is unknown from now on. */
  readonly left: readonly JourneyRecord[];

  constructor({ path, retention, pid, nowMs, busyTimeoutMs }: HistoryWriterOptions) {
    this.#path = path;
    this.#database = HistoryDatabase.openToWrite(path, busyTimeoutMs);
    let lock: WriterLock | undefined;
    try {
      checkOwned(this.#database, path);
      lock = WriterLock.take(path);
      upgrade(this.#database, path);
      this.#database.exec("PRAGMA synchronous = FULL");
      this.#lock = lock;
      this.#retention = new HistoryRetention(this.#database, retention);
      this.left = this.#begin(pid, nowMs);
    } catch (error) {
      lock?.release();
      this.#database.close();
      if (error instanceof HistoryError) throw error;
      throw new HistoryError("CANNOT_OPEN", this.#refusal(error).message, { cause: error });
    }
  }

  /**
   * Each is a journey as JSON; one that was written before is replaced. Returns how many of the
   * oldest had to go for them.
   */
  write(batch: readonly string[]): number {
    let removed = 0;
    for (let attempt = 1; ; attempt += 1) {
      try {
        removed += this.#retention.makeRoom();
        this.#database.transaction(() => {
          for (const json of batch) this.#database.run(upsertSql, rowOf(json));
        });
        return removed;
      } catch (error) {
        const isFull = sqliteCode(error) === "SQLITE_FULL" && attempt <= makeRoomMax;
        const more = isFull ? this.#removeOldest() : 0;
        if (more === 0) throw this.#refusal(error);
        removed += more;
      }
    }
  }

  /** Moves the log into the file and gives its room back. */
  emptyLog(): void {
    const [outcome] = this.#database.rows("PRAGMA wal_checkpoint(TRUNCATE)");
    if (outcome?.["busy"] === 0) return;
    throw new HistoryWriteError(
      "held by a reader",
      `another program has been reading ${this.#path} for too long; its write-ahead log is full`,
    );
  }

  /** One small step towards the bounds of age and size. */
  tidy(nowMs: number): RetentionStep {
    try {
      return this.#retention.step(nowMs);
    } catch (error) {
      throw this.#refusal(error);
    }
  }

  close(): void {
    this.#database.close();
    this.#lock.release();
  }

  #begin(pid: number, nowMs: number): readonly JourneyRecord[] {
    const left = this.#database
      .rows(
        `SELECT CAST(record AS BLOB) AS record FROM journeys WHERE outcome = 'pending'
         ORDER BY origin_ms LIMIT ?`,
        [leftMax],
      )
      .flatMap(({ record }) => (record instanceof ArrayBuffer ? (keptRecord(record) ?? []) : []));
    this.#database.transaction(() => {
      this.#database.exec("DELETE FROM writer");
      this.#database.run("INSERT INTO writer (pid, since_ms) VALUES (?, ?)", [pid, nowMs]);
      this.#database.exec(
        `UPDATE journeys SET outcome = 'unknown', record = json_set(record, '$.outcome', 'unknown')
         WHERE outcome = 'pending'`,
      );
    });
    return left;
  }

  /** None when the disk itself is full: then nothing can be removed either. */
  #removeOldest(): number {
    try {
      return this.#retention.removeOldest();
    } catch (error) {
      if (sqliteCode(error) === "SQLITE_FULL") return 0;
      throw this.#refusal(error);
    }
  }

  #refusal(error: unknown): HistoryWriteError {
    const code = sqliteCode(error);
    const why = error instanceof Error ? error.message : String(error);
    const refused = (kind: Refusal, message: string) =>
      new HistoryWriteError(kind, message, { cause: error });
    if (code === "SQLITE_FULL")
      return refused("no space", `cannot write ${this.#path}: its disk is full`);
    if (code.startsWith("SQLITE_BUSY")) {
      return refused("busy", `another program keeps ${this.#path} locked`);
    }
    if (code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB") {
      return refused("damaged", damaged(this.#path, why).message);
    }
    return refused("failed", `cannot write to ${this.#path}: ${why}`);
  }
}

/** It was made by `JSON.stringify` of a record, in this program. */
function rowOf(json: string) {
  return journeyRow(JSON.parse(json) as JourneyRecord, json);
}
