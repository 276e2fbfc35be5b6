// Reads a history, also while an observer writes it: readers and the writer do not wait for each
// other. It reads in pages and holds nothing open between them, so a slow reader delays no other.
import type { Files } from "../environment/files.ts";
import type { JourneyRecord } from "../timeline/journey-record.ts";
import { HistoryDatabase, type SqlRow, sqliteCode } from "./history-database.ts";
import { HistoryError } from "./history-error.ts";
import { isHistoryFile } from "./history-place.ts";
import {
  type HistoryOrder,
  type HistoryPage,
  type HistoryQuery,
  type PagePlace,
  pageSql,
} from "./history-query.ts";
import { checkReadable, damaged } from "./history-schema.ts";
import { keptRecord } from "./kept-record.ts";
import { WriterLock } from "./writer-lock.ts";

export interface HistoryReaderOptions {
  readonly files: Files;
  readonly path: string;
}

/** Some megabytes. */
const pageRecords = 2_000;

export class HistoryReader {
  readonly #database: HistoryDatabase;
  readonly #path: string;
  /** Without a writer the outcome of pending journeys in the file stays unknown. */
  readonly #isWritten: boolean;
  /** Rows that were found not to be as they were written. */
  readonly #damaged = new Set<number>();

  private constructor(database: HistoryDatabase, path: string, isWritten: boolean) {
    this.#database = database;
    this.#path = path;
    this.#isWritten = isWritten;
  }

  /** Rejects with a `HistoryError` that says what is wrong with the file. */
  static async open({ files, path }: HistoryReaderOptions): Promise<HistoryReader> {
    if (!(await isHistoryFile({ files, path }))) {
      throw new HistoryError("MISSING", `there is no history at ${path}`);
    }
    const database = HistoryDatabase.openToRead(path);
    try {
      checkReadable(database, path);
      return new HistoryReader(database, path, WriterLock.isHeld(path));
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** Journeys that could not be read, among all that were asked for so far. */
  get damaged(): number {
    return this.#damaged.size;
  }

  /** Throws a `HistoryError` when the file itself turns out to be damaged. */
  *records(
    query: HistoryQuery,
    { order, limit = Number.POSITIVE_INFINITY }: { order: HistoryOrder; limit?: number },
  ): Generator<JourneyRecord> {
    let after: PagePlace | undefined;
    for (let left = limit; left > 0; left -= pageRecords) {
      const page = { order, limit: Math.min(left, pageRecords), ...(after && { after }) };
      const rows = this.#rows(query, page);
      for (const row of rows) {
        const record = this.#recordOf(row);
        if (record !== undefined) yield this.#known(record);
      }
      after = placeOf(rows.at(-1));
      if (rows.length < pageRecords || after === undefined) return;
    }
  }

  #rows(query: HistoryQuery, page: HistoryPage): readonly SqlRow[] {
    const { sql, values } = pageSql(query, page);
    try {
      return this.#database.rows(sql, values);
    } catch (error) {
      const code = sqliteCode(error);
      if (code === "" || !(error instanceof Error)) throw error;
      if (code.startsWith("SQLITE_CORRUPT")) throw damaged(this.#path, error.message, error);
      const message = `cannot read ${this.#path}: ${error.message}`;
      throw new HistoryError("CANNOT_OPEN", message, { cause: error });
    }
  }

  #recordOf({ row, record }: SqlRow): JourneyRecord | undefined {
    const kept = record instanceof ArrayBuffer ? keptRecord(record) : undefined;
    if (kept === undefined && typeof row === "number") this.#damaged.add(row);
    return kept;
  }

  #known(record: JourneyRecord): JourneyRecord {
    const isLost = record.outcome === "pending" && !this.#isWritten;
    return isLost ? { ...record, outcome: "unknown" } : record;
  }

  close(): void {
    this.#database.close();
  }
}

function placeOf(last: SqlRow | undefined): PagePlace | undefined {
  const { place, row } = last ?? {};
  return typeof place === "number" && typeof row === "number" ? { value: place, row } : undefined;
}
