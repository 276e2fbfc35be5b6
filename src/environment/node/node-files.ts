// Files on the machine's disk. A write goes to a name of its own beside the target and is renamed
// over it, so a reader sees the old content or the new, and a failed write leaves nothing behind.
import {
  appendFile,
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import {
  type FileKind,
  type Files,
  FilesError,
  type FilesErrorCode,
  type OpenFile,
} from "../files.ts";
import { errorCode } from "./error-code.ts";
import { lockFile } from "./node-file-lock.ts";
import { openPipe } from "./node-pipe.ts";

export const nodeFiles: Files = {
  read: (path) => unlessAbsent(path, "read", () => readFile(path), undefined),
  open: (path) => unlessAbsent(path, "open", () => opened(path), undefined),
  write: (path, content, options) =>
    naming(path, "write", () => replace(path, content, options?.mode)),
  append: (path, content) => naming(path, "append to", () => appendFile(path, content)),
  size: (path) => unlessAbsent(path, "look at", async () => (await stat(path)).size, undefined),
  kind: (path) => unlessAbsent(path, "look at", () => kindOf(path), undefined),
  rename: (path, newPath) => naming(path, "rename", () => rename(path, newPath)),
  remove: (path) => naming(path, "remove", () => rm(path, { recursive: true, force: true })),
  list: (path) => unlessAbsent(path, "list", async () => (await readdir(path)).sort(), []),
  makeDirectory: (path) => naming(path, "make the folder", () => makeWithParents(path)),
  setMode: (path, mode) => naming(path, "set the mode of", () => setModeOf(path, mode)),
  isOpenToOthers: (path) => naming(path, "look at", () => isOpenToOthers(path)),
  temporaryDirectory: (prefix) => {
    const path = join(tmpdir(), prefix);
    return naming(path, "make a temporary folder", () => mkdtemp(path));
  },
  lock: (path) => naming(path, "lock", () => lockFile(path)),
};

const codes: Readonly<Record<string, FilesErrorCode>> = {
  EACCES: "PERMISSION",
  EPERM: "PERMISSION",
  EROFS: "PERMISSION",
  EISDIR: "NOT_A_FILE",
  ENOTDIR: "NOT_A_FILE",
  ENOSPC: "NO_SPACE",
  EDQUOT: "NO_SPACE",
};

async function kindOf(path: string): Promise<FileKind> {
  const about = await stat(path);
  if (about.isFile()) return "file";
  return about.isDirectory() ? "folder" : "other";
}

async function opened(path: string): Promise<OpenFile> {
  const named = await stat(path);
  if (named.isFIFO()) return openPipe(path, `${named.dev}:${named.ino}`);
  const file = await open(path, "r");
  const about = await file.stat();
  if (about.isDirectory()) {
    await file.close();
    throw new FilesError("NOT_A_FILE", path, `${path} is a folder`);
  }
  const isStream = !about.isFile();
  return {
    id: `${about.dev}:${about.ino}`,
    isStream,
    size: () => naming(path, "look at", async () => (await file.stat()).size),
    read: (offset, maxBytes) =>
      naming(path, "read", async () => {
        const buffer = new Uint8Array(maxBytes);
        const position = isStream ? null : offset;
        const { bytesRead } = await file.read(buffer, 0, maxBytes, position);
        return buffer.subarray(0, bytesRead);
      }),
    close: () => naming(path, "close", () => file.close()),
  };
}

/** Node's own recursive mkdir never ends where the system refuses every new name, as in /proc. */
async function makeWithParents(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const code = errorCode(error);
    if (code === "EEXIST" && (await stat(path)).isDirectory()) return;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    await makeWithParents(dirname(path));
    await unlessExists(mkdir(path));
  }
}

async function setModeOf(path: string, mode: number): Promise<void> {
  try {
    await chmod(path, mode);
  } catch (error) {
    if (!["ENOENT", "EPERM", "EROFS"].includes(errorCode(error) ?? "")) throw error;
  }
}

const othersMayEnter = 0o001;

async function isOpenToOthers(path: string): Promise<boolean> {
  if (((await stat(path)).mode & othersMayEnter) === 0) return false;
  const above = dirname(path);
  return above === path || (await isOpenToOthers(above));
}

/** Another process may have made it in the meantime. */
async function unlessExists(making: Promise<void>): Promise<void> {
  try {
    await making;
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

/** Two writes of one file at the same time each need a name of their own. */
let writes = 0;

async function replace(
  path: string,
  content: Uint8Array | string,
  mode: number | undefined,
): Promise<void> {
  writes += 1;
  const beside = join(dirname(path), `.${basename(path)}.${process.pid}.${writes}.new`);
  try {
    const file = await open(beside, "wx", mode);
    try {
      // The umask has narrowed the mode given to `open`; the caller's word stands.
      if (mode !== undefined) await file.chmod(mode);
      await file.writeFile(content);
    } finally {
      await file.close();
    }
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}

/** As `naming`, with an answer for a path where nothing is. */
async function unlessAbsent<Value, Absent>(
  path: string,
  action: string,
  act: () => Promise<Value>,
  absent: Absent,
): Promise<Value | Absent> {
  return naming(path, action, async () => {
    try {
      return await act();
    } catch (error) {
      // ESRCH: the process of a file below /proc ended while it was read.
      if (["ENOENT", "ESRCH"].includes(errorCode(error) ?? "")) return absent;
      throw error;
    }
  });
}

/** Runs the action; its failure becomes a `FilesError` that says what was tried on which path. */
async function naming<Value>(
  path: string,
  action: string,
  act: () => Promise<Value>,
): Promise<Value> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof FilesError) throw error;
    const code = codes[errorCode(error) ?? ""] ?? "FAILED";
    const why = error instanceof Error ? error.message : String(error);
    throw new FilesError(code, path, `cannot ${action} ${path}: ${why}`, { cause: error });
  }
}
