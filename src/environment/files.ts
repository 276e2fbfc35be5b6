// Files, most of them whole; only logs, which may be long and go on growing, are read in parts. Paths
// are absolute.

export interface Files {
  /** Undefined when there is no such file; any other failure throws a `FilesError`. */
  read(path: string): Promise<Uint8Array | undefined>;
  /** To read it in parts. Undefined when there is no such file. */
  open(path: string): Promise<OpenFile | undefined>;
  /** Replaces the file at once (write beside, then rename): a reader never sees half of it. */
  write(path: string, content: Uint8Array | string, options?: { mode?: number }): Promise<void>;
  /** Makes the file when it is absent. */
  append(path: string, content: Uint8Array | string): Promise<void>;
  /** In bytes; undefined when there is no such file. */
  size(path: string): Promise<number | undefined>;
  /** Without opening it, for to open a pipe waits; undefined when there is nothing. */
  kind(path: string): Promise<FileKind | undefined>;
  /** A file at the new name is replaced. Open handles of the file stay valid. */
  rename(path: string, newPath: string): Promise<void>;
  /** Removes a file or a folder with all in it; no error when absent. */
  remove(path: string): Promise<void>;
  /** Names in a folder, sorted; empty when the folder is absent. */
  list(path: string): Promise<readonly string[]>;
  /** With its parents; no error when it exists. */
  makeDirectory(path: string): Promise<void>;
  /** Sets who may use it; without effect where it is absent or belongs to another user. */
  setMode(path: string, mode: number): Promise<void>;
  /** Whether other users than the owners may enter the folder, and all folders above it. */
  isOpenToOthers(path: string): Promise<boolean>;
  /** A new empty folder for this process alone. */
  temporaryDirectory(prefix: string): Promise<string>;
  /**
   * Undefined while another holder has it. The lock is the system's own, so it ends with the process
   * however that ends, and it works among containers that share a disk. Makes the file when absent.
   */
  lock(path: string): Promise<FileLock | undefined>;
}

/** Held for as long as it is referred to and not released. */
export interface FileLock {
  /** Idempotent. */
  release(): Promise<void>;
}

/** For its owner alone: Lockstep's files hold keys, addresses of clients and names of objects. */
export const ownerOnly = 0o600;
export const ownerOnlyFolder = 0o700;

/** Other users pass through it to what they may open, and list nothing. */
export const passableFolder = 0o711;

/** `other` are devices, pipes and sockets. */
export type FileKind = "file" | "folder" | "other";

/** Stays with the file it was opened on, whatever is done with its name. */
export interface OpenFile {
  /** The same for two openings of one file, and for no other file while this one is open. */
  readonly id: string;
  /** A pipe, for example: it can only be read on, from wherever it is, until it ends. */
  readonly isStream: boolean;
  /** In bytes, now; 0 of a stream. */
  size(): Promise<number>;
  /** At most so many bytes from there on; none at the end. */
  read(offset: number, maxBytes: number): Promise<Uint8Array>;
  /** Idempotent. */
  close(): Promise<void>;
}

export type FilesErrorCode = "PERMISSION" | "NOT_A_FILE" | "NO_SPACE" | "FAILED";

export class FilesError extends Error {
  override readonly name = "FilesError";
  readonly code: FilesErrorCode;
  readonly path: string;

  constructor(code: FilesErrorCode, path: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.path = path;
  }
}
