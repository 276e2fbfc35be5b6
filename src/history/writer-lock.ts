// Keeps a history to one writer. The lock is the system's own, held on an empty file beside the
// history, so it ends with the process however that ends, and no stale one is ever left. It works
// among containers that share a disk, too, where a process id means nothing.
import { HistoryDatabase, sqliteCode } from "./history-database.ts";
import { HistoryError } from "./history-error.ts";

/** Another process holds it for long, or checks it for a moment. */
const waitMs = 200;

export class WriterLock {
  readonly #connection: HistoryDatabase;

  private constructor(connection: HistoryDatabase) {
    this.#connection = connection;
  }

  /** Throws when another process has it, and names that process as far as it can. */
  static take(path: string): WriterLock {
    const connection = HistoryDatabase.openToWrite(`${path}-writer`, waitMs);
    try {
      // Statements that are prepared would keep the lock until they are collected; this one is not.
      connection.exec("BEGIN EXCLUSIVE");
      return new WriterLock(connection);
    } catch (error) {
      connection.close();
      if (sqliteCode(error) !== "SQLITE_BUSY") throw error;
      throw new HistoryError(
        "IN_USE",
        `${path} is being written by ${writerOf(path)}: stop it, or give another file`,
        { cause: error },
      );
    }
  }

  /** Whether some process writes the history at this moment. */
  static isHeld(path: string): boolean {
    let connection: HistoryDatabase | undefined;
    try {
      connection = HistoryDatabase.openToRead(`${path}-writer`, 0);
      connection.exec("SELECT count(*) FROM sqlite_schema");
      return false;
    } catch (error) {
      return sqliteCode(error) === "SQLITE_BUSY";
    } finally {
      connection?.close();
    }
  }

  release(): void {
    this.#connection.close();
  }
}

/** The writer that was written down last; it may have no name yet. */
function writerOf(path: string): string {
  let reader: HistoryDatabase | undefined;
  try {
    reader = HistoryDatabase.openToRead(path);
    return `process ${reader.number("SELECT pid FROM writer")}`;
  } catch {
    // It began a moment ago and the file is still empty, or is not to be read by us.
    return "another process";
  } finally {
    reader?.close();
  }
}
