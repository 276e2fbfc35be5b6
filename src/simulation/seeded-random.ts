// Chance that repeats: a small fast counter generator (sfc32) whose state comes from a seed and a
// name. Streams of different names are independent, so giving one host more chance, or adding a
// host, does not change what the others draw.
import type { Random } from "../environment/random.ts";

/** Rounds after which the seed's bits have reached the whole state. */
const warmUpRounds = 12;

export class SeededRandom implements Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;
  readonly #onDraw: ((value: number) => void) | undefined;

  constructor(options: { seed: number; name: string; onDraw?: (value: number) => void }) {
    const text = `${options.seed}/${options.name}`;
    this.#a = hash32(text, 0x9e3779b9);
    this.#b = hash32(text, 0x85ebca6b);
    this.#c = hash32(text, 0xc2b2ae35);
    for (let round = 0; round < warmUpRounds; round++) this.#next32();
    this.#onDraw = options.onDraw;
  }

  next(): number {
    const value = this.#next53();
    this.#onDraw?.(value);
    return value;
  }

  uuid(): string {
    let hex = "";
    for (let word = 0; word < 4; word++) hex += this.#next32().toString(16).padStart(8, "0");
    this.#onDraw?.(Number.parseInt(hex.slice(0, 12), 16));
    const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      `${variant}${hex.slice(17, 20)}`,
      hex.slice(20, 32),
    ].join("-");
  }

  /** 53 bits, as many as a number in [0, 1) holds. */
  #next53(): number {
    const high = this.#next32() >>> 5;
    const low = this.#next32() >>> 6;
    return (high * 67_108_864 + low) / 9_007_199_254_740_992;
  }

  #next32(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }
}

/** FNV-1a over the text's code units, begun at `salt`, with a final mix. */
function hash32(text: string, salt: number): number {
  let hash = (0x811c9dc5 ^ salt) >>> 0;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) | 0;
}
