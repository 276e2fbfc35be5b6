// The schema of a history file, and the upgrade of an earlier version. The version is SQLite's
// user_version; a step and the new version are one transaction, so that a writer killed on the way
// leaves the file as it was before the step or after it.
import { type HistoryDatabase, sqliteCode } from "./history-database.ts";
import { HistoryError } from "./history-error.ts";

/** Says in the file's header whose it is: `Lkst`. */
const applicationId = 0x4c_6b_73_74;

/**
 * Each brings a file of the version before it to its own; a step is never changed once released.
 *
 * `record` is the whole journey as JSON; the columns beside it are what is asked by. `late_ms` is
 * the longest lag at any hop, infinite while a hop is stuck, so that what never arrived is later
 * than anything that did. `was_stuck` stays when the hop shows the change after all.
 */
export const schemaSteps: readonly string[] = [
  `CREATE TABLE journeys (
     id TEXT NOT NULL UNIQUE,
     origin_ms REAL NOT NULL,
     service TEXT NOT NULL,
     cluster TEXT,
     direction TEXT NOT NULL,
     outcome TEXT NOT NULL,
     late_ms REAL NOT NULL,
     was_stuck INTEGER NOT NULL,
     record TEXT NOT NULL
   ) STRICT;
   CREATE INDEX journeys_by_origin ON journeys (origin_ms);
   CREATE INDEX journeys_by_service ON journeys (service, origin_ms);
   CREATE INDEX journeys_by_cluster ON journeys (cluster, origin_ms);
   CREATE INDEX journeys_by_lateness ON journeys (late_ms);
   CREATE INDEX journeys_stuck ON journeys (origin_ms) WHERE was_stuck = 1;
   CREATE INDEX journeys_pending ON journeys (id) WHERE outcome = 'pending';
   CREATE TABLE writer (pid INTEGER NOT NULL, since_ms REAL NOT NULL) STRICT;`,
];

/** Makes an empty file a history, brings an older one up to date, refuses anything else. */
export function upgrade(
  database: HistoryDatabase,
  path: string,
  steps: readonly string[] = schemaSteps,
): void {
  naming(path, () => {
    const version = versionOf(database, path, steps.length);
    const problem = Object.values(database.rows("PRAGMA quick_check(1)")[0] ?? {})[0];
    if (problem !== "ok") throw damaged(path, String(problem));
    if (version === 0) {
      // Before the first table, or it has no effect; and both are kept in the file.
      database.exec("PRAGMA auto_vacuum = INCREMENTAL");
      database.exec("PRAGMA journal_mode = WAL");
    }
    for (const [index, step] of steps.entries()) {
      if (index < version) continue;
      database.transaction(() => {
        database.exec(step);
        database.exec(`PRAGMA application_id = ${applicationId}`);
        database.exec(`PRAGMA user_version = ${index + 1}`);
      });
    }
  });
}

/** Refuses a foreign file, or one of a newer Lockstep, without changing it. */
export function checkOwned(database: HistoryDatabase, path: string): void {
  naming(path, () => void versionOf(database, path, schemaSteps.length));
}

/** Refuses a file that this version cannot read. */
export function checkReadable(
  database: HistoryDatabase,
  path: string,
  steps: readonly string[] = schemaSteps,
): void {
  naming(path, () => {
    const version = versionOf(database, path, steps.length);
    if (version === steps.length) return;
    if (version === 0) throw nothingYet(path);
    throw new HistoryError("OLDER", `${path} was written by an older Lockstep`);
  });
}

/** 0 for a file without anything in it. */
function versionOf(database: HistoryDatabase, path: string, known: number): number {
  const owner = database.number("PRAGMA application_id");
  const version = database.number("PRAGMA user_version");
  const tables = database.number("SELECT count(*) FROM sqlite_schema");
  if (owner !== applicationId) {
    if (owner === 0 && version === 0 && tables === 0) return 0;
    throw new HistoryError(
      "NOT_A_HISTORY",
      `${path} is a database of another program: give another file; this one is not changed`,
    );
  }
  if (version <= known) return version;
  throw new HistoryError(
    "NEWER",
    `${path} was written by a newer Lockstep (its version is ${version}, this one knows ` +
      `${known}): use that one, or name another file`,
  );
}

/** Turns what SQLite finds wrong with the file itself into words. */
function naming(path: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    const code = sqliteCode(error);
    if (code === "SQLITE_NOTADB") {
      throw new HistoryError(
        "NOT_A_HISTORY",
        `${path} is not a history: give another file; this one is not changed`,
        { cause: error },
      );
    }
    if (code.startsWith("SQLITE_CORRUPT")) {
      throw damaged(path, error instanceof Error ? error.message : code, error);
    }
    // A journal to roll back, which only the very first steps of a new file have.
    if (code === "SQLITE_READONLY_ROLLBACK") throw nothingYet(path, error);
    if (code === "SQLITE_CANTOPEN" || code.startsWith("SQLITE_READONLY")) {
      throw new HistoryError(
        "CANNOT_OPEN",
        `cannot open ${path}: this user needs write permission in its folder, because readers ` +
          "and the writer share a file there",
        { cause: error },
      );
    }
    throw error;
  }
}

function nothingYet(path: string, cause?: unknown): HistoryError {
  return new HistoryError("MISSING", `${path} is empty: nothing has been kept in it yet`, {
    cause,
  });
}

export function damaged(path: string, what: string, cause?: unknown): HistoryError {
  return new HistoryError(
    "DAMAGED",
    `${path} is damaged (${what.replace(/\s+/g, " ")}): it is left as it is. Move it away to begin a new one; ` +
      `\`sqlite3 ${path} .recover\` may save what is in it`,
    { cause },
  );
}
