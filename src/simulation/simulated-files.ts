// Files in memory. The tree belongs to the machine, so it survives the crash of a process and of
// the machine; each process reaches it through its own `SimulatedFiles`, which stops having any
// effect when the process ends. Operations take no virtual time.

import { posix } from "node:path";
import { assertCostly } from "../environment/assert.ts";
import {
  type FileKind,
  type FileLock,
  type Files,
  FilesError,
  type OpenFile,
} from "../environment/files.ts";
import { never, type SimulatedProcess } from "./simulated-process.ts";

/** Keeps its identity when renamed; a file written in its place is another. */
interface TreeFile {
  readonly id: string;
  content: Uint8Array;
}

export class FileTree {
  readonly files = new Map<string, TreeFile>();
  /** Invariant: holds every ancestor of every file and folder in it. */
  readonly folders = new Set<string>(["/", "/tmp"]);
  /** The files that a process has locked. */
  readonly locked = new Set<string>();
  /** How many temporary folders were ever made here. */
  temporaryCount = 0;
  #lastId = 0;

  newFile(content: Uint8Array): TreeFile {
    this.#lastId += 1;
    return { id: String(this.#lastId), content };
  }

  isRooted(): boolean {
    const paths = [...this.files.keys(), ...this.folders];
    return paths.every((path) => this.folders.has(posix.dirname(path)));
  }
}

export class SimulatedFiles implements Files {
  readonly #process: SimulatedProcess;
  readonly #tree: FileTree;

  constructor(process: SimulatedProcess) {
    this.#process = process;
    this.#tree = process.host.files;
  }

  read(path: string): Promise<Uint8Array | undefined> {
    return this.#perform(() => {
      const key = this.#filePath(path);
      return this.#tree.files.get(key)?.content.slice();
    });
  }

  open(path: string): Promise<OpenFile | undefined> {
    return this.#perform(() => {
      const file = this.#tree.files.get(this.#filePath(path));
      if (file === undefined) return undefined;
      return {
        id: file.id,
        isStream: false,
        size: () => this.#perform(() => file.content.byteLength),
        read: (offset, maxBytes) =>
          this.#perform(() => file.content.slice(offset, offset + maxBytes)),
        close: () => this.#perform(() => undefined),
      };
    });
  }

  write(path: string, content: Uint8Array | string): Promise<void> {
    return this.#perform(() => this.#put(path, this.#tree.newFile(toBytes(content))));
  }

  append(path: string, content: Uint8Array | string): Promise<void> {
    return this.#perform(() => {
      const before = this.#tree.files.get(normal(path));
      const added = toBytes(content);
      if (before === undefined) this.#put(path, this.#tree.newFile(added));
      else before.content = Buffer.concat([before.content, added]);
    });
  }

  size(path: string): Promise<number | undefined> {
    return this.#perform(() => this.#tree.files.get(this.#filePath(path))?.content.byteLength);
  }

  kind(path: string): Promise<FileKind | undefined> {
    return this.#perform(() => {
      const key = normal(path);
      if (this.#tree.files.has(key)) return "file";
      return this.#tree.folders.has(key) ? "folder" : undefined;
    });
  }

  rename(path: string, newPath: string): Promise<void> {
    return this.#perform(() => {
      const key = this.#filePath(path);
      const file = this.#tree.files.get(key);
      if (file === undefined) {
        throw new FilesError("FAILED", key, `cannot rename ${key}: it does not exist`);
      }
      this.#put(newPath, file);
      this.#tree.files.delete(key);
    });
  }

  remove(path: string): Promise<void> {
    return this.#perform(() => {
      const key = normal(path);
      const { files, folders } = this.#tree;
      files.delete(key);
      folders.delete(key);
      for (const file of files.keys()) if (isInside(file, key)) files.delete(file);
      for (const folder of folders) if (isInside(folder, key)) folders.delete(folder);
    });
  }

  list(path: string): Promise<readonly string[]> {
    return this.#perform(() => {
      const key = normal(path);
      if (this.#tree.files.has(key)) throw notAFile(key);
      const names: string[] = [];
      for (const entry of [...this.#tree.files.keys(), ...this.#tree.folders]) {
        if (entry !== "/" && posix.dirname(entry) === key) names.push(posix.basename(entry));
      }
      return names.sort();
    });
  }

  /** There is one user, who may do everything. */
  setMode(): Promise<void> {
    return this.#perform(() => undefined);
  }

  isOpenToOthers(): Promise<boolean> {
    return this.#perform(() => true);
  }

  makeDirectory(path: string): Promise<void> {
    return this.#perform(() => this.#makeFolder(normal(path)));
  }

  temporaryDirectory(prefix: string): Promise<string> {
    return this.#perform(() => {
      this.#tree.temporaryCount += 1;
      const path = `/tmp/${prefix}${this.#tree.temporaryCount}`;
      this.#makeFolder(path);
      return path;
    });
  }

  lock(path: string): Promise<FileLock | undefined> {
    return this.#perform(() => {
      const { files, locked } = this.#tree;
      const key = this.#filePath(path);
      if (locked.has(key)) return undefined;
      if (!files.has(key)) this.#put(path, this.#tree.newFile(new Uint8Array()));
      locked.add(key);
      let isHeld = true;
      const release = (): void => {
        if (isHeld) locked.delete(key);
        isHeld = false;
      };
      this.#process.onEnd(release);
      return { release: () => this.#perform(release) };
    });
  }

  async #perform<Result>(operation: () => Result): Promise<Result> {
    if (this.#process.ended) return never();
    const result = operation();
    const size = this.#tree.files.size + this.#tree.folders.size;
    assertCostly(() => this.#tree.isRooted(), "every file is in a folder", size);
    return result;
  }

  #put(path: string, file: TreeFile): void {
    const key = this.#filePath(path);
    if (!this.#tree.folders.has(posix.dirname(key))) {
      throw new FilesError("FAILED", key, `cannot write ${key}: its folder does not exist`);
    }
    this.#tree.files.set(key, file);
  }

  /** Where a file is or may be: not a folder, nor anything inside a file. */
  #filePath(path: string): string {
    const key = normal(path);
    if (this.#tree.folders.has(key)) throw notAFile(key);
    for (let above = posix.dirname(key); above !== "/"; above = posix.dirname(above)) {
      if (this.#tree.files.has(above)) throw notAFile(key);
    }
    return key;
  }

  #makeFolder(key: string): void {
    for (let folder = key; folder !== "/"; folder = posix.dirname(folder)) {
      if (this.#tree.files.has(folder)) throw notAFile(folder);
      this.#tree.folders.add(folder);
    }
  }
}

function normal(path: string): string {
  if (!path.startsWith("/")) throw new FilesError("FAILED", path, `${path} is not absolute`);
  const key = posix.normalize(path);
  return key.length > 1 && key.endsWith("/") ? key.slice(0, -1) : key;
}

function isInside(path: string, folder: string): boolean {
  return path.startsWith(folder === "/" ? "/" : `${folder}/`) && path !== "/";
}

function toBytes(content: Uint8Array | string): Uint8Array {
  return typeof content === "string" ? Buffer.from(content, "utf8") : content.slice();
}

function notAFile(path: string): FilesError {
  return new FilesError("NOT_A_FILE", path, `${path} is a folder, or inside a file`);
}
