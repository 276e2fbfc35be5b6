// How much of nginx's shared memory entries take, for the twin: as a lua_shared_dict stores them, in
// powers of two up to half a page and in whole pages beyond, and refused as writer.lua refuses them.
// Invariant: `#usedBytes` is the sum of what every key takes.
import { assertCostly } from "../../environment/assert.ts";

/** As in proxy/lua/lockstep/writer.lua; of a smaller memory the same share that it is of 64 MB. */
const reserveBytesMax = 4 * 1024 * 1024;
const reserveShare = 1 / 16;

const pageBytes = 4_096;
/** The node of a key, beside the key and its value. */
const headerBytes = 80;

export class TwinMemory {
  readonly #capacityBytes: number;
  readonly #sizes = new Map<string, number>();
  #usedBytes = 0;

  constructor(capacityBytes: number) {
    this.#capacityBytes = capacityBytes;
  }

  get freeBytes(): number {
    return this.#capacityBytes - this.#usedBytes;
  }

  /** False when there is no room: then the key keeps what it had. */
  put(key: string, value: string): boolean {
    const known = this.#sizes.get(key);
    const reserveBytes = Math.min(reserveBytesMax, this.#capacityBytes * reserveShare);
    const isReserved = this.freeBytes < reserveBytes;
    if (isReserved && (this.freeBytes < reserveBytes / 2 || known === undefined)) return false;
    const size = allocated(headerBytes + Buffer.byteLength(key) + Buffer.byteLength(value));
    if (this.freeBytes + (known ?? 0) < size) return false;
    this.#sizes.set(key, size);
    this.#usedBytes += size - (known ?? 0);
    this.#check();
    return true;
  }

  delete(key: string): void {
    this.#usedBytes -= this.#sizes.get(key) ?? 0;
    this.#sizes.delete(key);
    this.#check();
  }

  #check(): void {
    const isCounted = () => {
      let sum = 0;
      for (const bytes of this.#sizes.values()) sum += bytes;
      return sum === this.#usedBytes && sum <= this.#capacityBytes;
    };
    assertCostly(isCounted, "what entries take is counted", this.#sizes.size);
  }

  /** Everything but the keys that are to be kept. */
  keepOnly(isKept: (key: string) => boolean): void {
    for (const key of this.#sizes.keys()) if (!isKept(key)) this.delete(key);
  }
}

function allocated(bytes: number): number {
  if (bytes > pageBytes / 2) return Math.ceil(bytes / pageBytes) * pageBytes;
  return 2 ** Math.ceil(Math.log2(bytes));
}
