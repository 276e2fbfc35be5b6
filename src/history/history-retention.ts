// Keeps a history within its age and its size: the oldest journeys go first, and the pages they
// leave go back to the disk. It works in small steps, so that no batch waits long behind it.
// Invariant: the file has at most `pagesMax` pages, because SQLite itself refuses more.
import type { HistoryDatabase } from "./history-database.ts";

export interface Retention {
  /** Journeys that began longer ago go. */
  readonly ageMaxMs: number;
  /** Of the file and its log together. */
  readonly sizeMaxBytes: number;
}

/** At about a kilobyte each a quarter of a million journeys, and read through in seconds. */
export const defaultRetention: Retention = {
  ageMaxMs: 30 * 24 * 3_600_000,
  sizeMaxBytes: 256 * 1024 * 1024,
};

/** A smaller one would be all log and few journeys. */
export const leastSizeBytes = 16 * 1024 * 1024;

/** Of the size, what the log may take at most: a few batches with the pages of all indexes. */
const logShare = 0.25;
const logMaxBytes = 32 * 1024 * 1024;

/** Of the log, when it moves to the file by itself, and when it is made to: a batch still fits. */
const logMovedShare = 0.125;
const logEmptiedShare = 0.25;

/** Room is made before the last page is taken: a batch needs some for itself. */
const fullShare = 0.9;

/** Some milliseconds of work. */
const removedAtOnce = 500;
const freedPagesAtOnce = 256;

/** Pages that are free are used by the next journeys; beyond this share they go back to the disk. */
const freeShareMax = 0.25;

export interface RetentionStep {
  readonly removed: number;
  /** Whether another step would find something to do. */
  readonly more: boolean;
}

/** Journeys are not written to a log that is larger before it has been emptied. */
export function logEmptiedAtBytes(retention: Retention): number {
  return logBytesMax(retention) * logEmptiedShare;
}

function logBytesMax({ sizeMaxBytes }: Retention): number {
  return Math.min(logMaxBytes, sizeMaxBytes * logShare);
}

export class HistoryRetention {
  readonly #database: HistoryDatabase;
  readonly #retention: Retention;
  readonly #pagesMax: number;

  constructor(database: HistoryDatabase, retention: Retention) {
    this.#database = database;
    this.#retention = retention;
    const pageBytes = database.number("PRAGMA page_size");
    const logBytes = logBytesMax(retention);
    this.#pagesMax = Math.floor((retention.sizeMaxBytes - logBytes) / pageBytes);
    const movedPages = Math.floor((logBytes * logMovedShare) / pageBytes);
    database.exec(`PRAGMA wal_autocheckpoint = ${movedPages}`);
    // A file that is larger already keeps its size until steps have made it smaller.
    database.exec(`PRAGMA max_page_count = ${this.#pagesMax}`);
  }

  /** One small step towards the bounds. */
  step(nowMs: number): RetentionStep {
    const removed = this.#isFull()
      ? this.removeOldest()
      : this.#remove("WHERE origin_ms < ?", [nowMs - this.#retention.ageMaxMs]);
    const freed = this.#freePages();
    return { removed, more: removed === removedAtOnce || freed || this.#isFull() };
  }

  /** How many went so that a batch has room. */
  makeRoom(): number {
    return this.#isFull() ? this.removeOldest() : 0;
  }

  /** How many there were to remove. */
  removeOldest(): number {
    return this.#remove("", []);
  }

  #remove(where: string, values: readonly number[]): number {
    return this.#database.run(
      `DELETE FROM journeys WHERE rowid IN (
         SELECT rowid FROM journeys ${where} ORDER BY origin_ms LIMIT ${removedAtOnce})`,
      values,
    );
  }

  #isFull(): boolean {
    const { pages, free } = this.#pages();
    return pages - free > this.#pagesMax * fullShare;
  }

  /** Whether pages went back to the disk. */
  #freePages(): boolean {
    const { pages, free } = this.#pages();
    if (free === 0) return false;
    if (pages <= this.#pagesMax && free <= pages * freeShareMax) return false;
    this.#database.exec(`PRAGMA incremental_vacuum(${freedPagesAtOnce})`);
    this.#database.exec(`PRAGMA max_page_count = ${this.#pagesMax}`);
    return true;
  }

  #pages(): { readonly pages: number; readonly free: number } {
    return {
      pages: this.#database.number("PRAGMA page_count"),
      free: this.#database.number("PRAGMA freelist_count"),
    };
  }
}
