// Reads objects from files, folders and standard input: YAML or JSON as written by people, kubectl or
// `helm template`. A file that cannot be read is reported, and the others are used.
import { type Files, FilesError } from "../environment/files.ts";
import { savedDocuments } from "../kube/yaml/saved-documents.ts";
import type { FoundObjects } from "./found-objects.ts";

/** A folder with more files is not one of manifests. */
const maxFiles = 100_000;

/** All files together: in memory, objects take some times as much. */
export const maxInputBytes = 200_000_000;

const maxDepth = 40;

const objectFile = /\.(?:json|ya?ml)$/i;

export class InputError extends Error {
  override readonly name = "InputError";
  readonly code = "INPUT";
}

export class SavedInput {
  readonly #found: FoundObjects;
  #bytes = 0;
  #files = 0;

  constructor(found: FoundObjects) {
    this.#found = found;
  }

  get files(): number {
    return this.#files;
  }

  /** A file, or every file of objects in the folder and below it. */
  async readPath(files: Files, path: string, signal: AbortSignal): Promise<void> {
    const kind = await files.kind(path);
    if (kind === undefined) throw new InputError(`file or folder ${path} does not exist`);
    if (kind !== "folder") return this.#readFile(files, path);
    await this.#readFolder(files, path, { signal, depth: 0 });
  }

  async readStream(stream: AsyncIterable<Uint8Array>, name: string): Promise<void> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of stream) {
      this.#count(chunk.byteLength);
      chunks.push(chunk.slice());
    }
    this.#take(Buffer.concat(chunks), name);
  }

  async #readFolder(
    files: Files,
    path: string,
    { signal, depth }: { readonly signal: AbortSignal; readonly depth: number },
  ): Promise<void> {
    if (depth > maxDepth) {
      this.#found.addProblem(`${path}: more than ${maxDepth} folders deep, not read`);
      return;
    }
    for (const name of await files.list(path)) {
      signal.throwIfAborted();
      const below = `${path}/${name}`;
      const kind = await files.kind(below);
      if (kind === "folder" && !name.startsWith(".")) {
        await this.#readFolder(files, below, { signal, depth: depth + 1 });
      } else if (kind === "file" && objectFile.test(name)) {
        await this.#readFile(files, below);
      }
    }
  }

  async #readFile(files: Files, path: string): Promise<void> {
    if (this.#files >= maxFiles) throw new InputError(`the input has more than ${maxFiles} files`);
    try {
      // Before it is read: a huge file would not fit into memory.
      this.#count((await files.size(path)) ?? 0);
      const content = await files.read(path);
      if (content !== undefined) this.#take(Buffer.from(content), path);
    } catch (error) {
      if (!(error instanceof FilesError)) throw error;
      this.#found.addProblem(`${path}: ${error.message}`);
    }
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > maxInputBytes) {
      throw new InputError(
        `the input has more than ${maxInputBytes / 1_000_000} MB; save only Ingresses, ` +
          "IngressClasses, Services and ConfigMaps",
      );
    }
  }

  #take(content: Buffer, where: string): void {
    this.#files += 1;
    const text = content.toString("utf8");
    const { documents, problems, isBroken } = savedDocuments(text);
    const isTemplate = /\{\{.*\}\}/.test(text);
    const hint = isTemplate
      ? "; it looks like a Helm template: use the output of helm template"
      : "";
    for (const problem of problems) this.#found.addProblem(`${where}: ${problem}${hint}`);
    if (isBroken === true) {
      this.#found.addProblem(`${where}: a list is cut off; its complete objects are used`);
    }
    for (const document of documents) this.#found.add(document, where);
  }
}
