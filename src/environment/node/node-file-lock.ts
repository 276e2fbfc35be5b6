// A lock on a file. Node has none, SQLite has: an empty database in an exclusive transaction holds a
// POSIX lock. Children of this process do not inherit it, so an nginx started by us never keeps it.
import type { FileLock } from "../files.ts";
import { errorCode } from "./error-code.ts";

export async function lockFile(path: string): Promise<FileLock | undefined> {
  // Loaded here, because most commands lock nothing.
  const { default: Libsql } = await import("libsql");
  const connection = new Libsql(path, { timeout: 0 });
  const release = (): void => {
    if (connection.open) connection.close();
  };
  try {
    connection.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    release();
    if (errorCode(error) === "SQLITE_BUSY") return undefined;
    throw error;
  }
  return { release: () => Promise.resolve(release()) };
}
