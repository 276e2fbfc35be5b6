// The newest lines of a log, as log rotation keeps them. Whole
// chunks are dropped from its beginning, so it always holds between the limit and a chunk less.

/** `--audit-log-maxsize` is 100 MB in most installations. */
const defaultMaxBytes = 100 * 1024 * 1024;

/** So many chunks make up the whole. */
const chunks = 100;

export class NewestLines {
  readonly #maxBytes: number;
  readonly #chunks: string[] = [];
  #open: string[] = [];
  #openBytes = 0;
  #bytes = 0;

  constructor(maxBytes = defaultMaxBytes) {
    this.#maxBytes = maxBytes;
  }

  add(line: string): void {
    this.#open.push(line);
    this.#openBytes += line.length + 1;
    if (this.#openBytes < this.#maxBytes / chunks) return;
    this.#chunks.push(`${this.#open.join("\n")}\n`);
    this.#bytes += this.#openBytes;
    this.#open = [];
    this.#openBytes = 0;
    while (this.#bytes > this.#maxBytes) this.#bytes -= this.#chunks.shift()?.length ?? this.#bytes;
  }

  text(): string {
    const open = this.#open.length === 0 ? "" : `${this.#open.join("\n")}\n`;
    return this.#chunks.join("") + open;
  }
}
