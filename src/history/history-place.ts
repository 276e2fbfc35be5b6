// Where a history is kept, looked at before SQLite sees it: SQLite takes a device, a pipe or a file of
// one byte for an empty database, and writes to it or beside it. A history that could not be made in
// the end leaves no file behind.
import { type Files, FilesError, ownerOnly } from "../environment/files.ts";
import { HistoryError } from "./history-error.ts";

export interface HistoryPlace {
  readonly files: Files;
  readonly path: string;
}

/** With what every file of SQLite's begins. */
const sqliteMark = "SQLite format 3\0";

/** The file itself, and what SQLite and the writer's lock keep beside it. */
const endings: readonly string[] = ["", "-journal", "-wal", "-shm", "-writer"];

/**
 * Makes the folder and looks at the file. Rejects with a `HistoryError` where it cannot be a history;
 * else resolves with a way to remove the files that were made since.
 */
export async function prepareHistory(place: HistoryPlace): Promise<() => Promise<void>> {
  const { files, path: kept } = place;
  await naming(kept, () => files.makeDirectory(folderOf(kept)));
  await isHistoryFile(place);
  const before = await naming(kept, () => filesOf(place));
  for (const path of before) await naming(kept, () => files.setMode(path, ownerOnly));
  return async () => {
    for (const path of await filesOf(place)) {
      if (!before.includes(path)) await files.remove(path);
    }
  };
}

/** Whether there is a file; rejects with a `HistoryError` where it cannot be a history. */
export async function isHistoryFile(place: HistoryPlace): Promise<boolean> {
  const { files, path } = place;
  const mark = await naming(path, async () => {
    const kind = await files.kind(path);
    if (kind === "folder") throw cannotBe(path, "it is a folder");
    if (kind === "other") throw cannotBe(path, "it is no ordinary file");
    return await beginningOf(place);
  });
  if (mark === undefined) return false;
  if (mark === "" || mark === sqliteMark) return true;
  throw new HistoryError(
    "NOT_A_HISTORY",
    `${path} is not a history: give another file; this one is not changed`,
  );
}

/** Undefined when there is no file. */
async function beginningOf({ files, path }: HistoryPlace): Promise<string | undefined> {
  const file = await files.open(path);
  try {
    const bytes = await file?.read(0, sqliteMark.length);
    return bytes && Buffer.from(bytes).toString();
  } finally {
    await file?.close();
  }
}

/** Says what is wrong with a path together with what it was to be. */
async function naming<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof FilesError)) throw cause;
    throw cannotBe(path, cause.message, cause);
  }
}

/** Each is looked at by its name: a folder may hold a history and yet not let itself be listed. */
async function filesOf({ files, path }: HistoryPlace): Promise<readonly string[]> {
  const paths = endings.map((ending) => path + ending);
  const kinds = await Promise.all(paths.map((one) => files.kind(one)));
  return paths.filter((_, index) => kinds[index] !== undefined);
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1) || ".";
}

function cannotBe(path: string, why: string, cause?: unknown): HistoryError {
  const message = `cannot keep a history in ${path}: ${why}`;
  return new HistoryError("CANNOT_OPEN", message, { cause });
}
