// One connection to a history file: libsql behind the few calls that are needed, every value that
// comes out of it checked, every failure with SQLite's own code.
import Libsql from "libsql";
import { HistoryError } from "./history-error.ts";

export type SqlValue = string | number | null;
type Statement = Libsql.Statement<SqlValue[]>;
export type SqlRow = Readonly<Record<string, unknown>>;

/** How long a statement waits for another lock: a person with `sqlite3` is done by then. */
const busyTimeoutMs = 2_000;

export class HistoryDatabase {
  readonly #connection: Libsql.Database;
  /** Prepared once each; there is a handful. */
  readonly #statements = new Map<string, Statement>();

  private constructor(connection: Libsql.Database) {
    this.#connection = connection;
  }

  /** Makes the file when it is absent. */
  static openToWrite(path: string, timeoutMs = busyTimeoutMs): HistoryDatabase {
    return HistoryDatabase.#open(path, plainPath(path), timeoutMs);
  }

  static openToRead(path: string, timeoutMs = busyTimeoutMs): HistoryDatabase {
    const uri = `file:${encodeURI(plainPath(path)).replace(/[?#]/g, encodeURIComponent)}?mode=ro`;
    return HistoryDatabase.#open(path, uri, timeoutMs);
  }

  static #open(path: string, name: string, timeoutMs: number): HistoryDatabase {
    try {
      return new HistoryDatabase(new Libsql(name, { timeout: timeoutMs }));
    } catch (cause) {
      throw new HistoryError(
        "CANNOT_OPEN",
        `cannot open ${path}: it is not a file, or its folder is missing, read-only or belongs to another user`,
        { cause },
      );
    }
  }

  get inTransaction(): boolean {
    return this.#connection.inTransaction;
  }

  exec(sql: string): void {
    this.#connection.exec(sql);
  }

  /** How many rows it changed. */
  run(sql: string, values: readonly SqlValue[]): number {
    return this.#statement(sql).run(...values).changes;
  }

  rows(sql: string, values: readonly SqlValue[] = []): readonly SqlRow[] {
    return this.#statement(sql)
      .all(...values)
      .filter(isRow);
  }

  /** The one number that the statement gives. */
  number(sql: string, values: readonly SqlValue[] = []): number {
    const value = Object.values(this.rows(sql, values)[0] ?? {})[0];
    if (typeof value !== "number") throw new TypeError(`${sql} gave ${String(value)}, no number`);
    return value;
  }

  /** All of it or nothing. */
  transaction(work: () => void): void {
    this.exec("BEGIN IMMEDIATE");
    try {
      work();
      this.exec("COMMIT");
    } catch (error) {
      // SQLite has rolled back by itself after some failures, a full disk among them.
      if (this.inTransaction) this.exec("ROLLBACK");
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#connection.close();
  }

  #statement(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const made = this.#connection.prepare<SqlValue[]>(sql);
    this.#statements.set(sql, made);
    return made;
  }
}

/** `SQLITE_FULL` and the like; empty when the failure is not SQLite's. */
export function sqliteCode(error: unknown): string {
  if (!(error instanceof Error) || !("code" in error)) return "";
  return typeof error.code === "string" ? error.code : "";
}

/** A name that begins with `file:` or `:memory:` would mean something else than a file. */
function plainPath(path: string): string {
  return path.startsWith("/") ? path : `./${path}`;
}

function isRow(value: unknown): value is SqlRow {
  return typeof value === "object" && value !== null;
}
