// Finds which of many words a text contains, in one pass (Wu and Manber, 1994). Three bytes at a time
// say how far the search may move; most of a line is passed over in steps of several bytes. The doctor
// asks this of each line of each log, and nearly all lines have no word. So it works on bytes: a line
// without a word needs no string.

/** A block of this many bytes decides a step. */
const blockLength = 3;

/** Two blocks may share an entry; the comparison with the word decides. */
const tableBits = 14;
const tableSize = 1 << tableBits;

interface Candidate {
  readonly word: string;
  readonly bytes: Uint8Array;
  readonly index: number;
}

const none: readonly string[] = [];

export class WordFinder {
  /** Of the shortest word: only as many characters of each word are in the table. */
  readonly #window: number;
  /** By block: how far the end of the window may move; 0 at the end of a word's window. */
  readonly #steps: Uint8Array;
  /** By block: the words whose window ends with it. */
  readonly #candidates: Candidate[][] = Array.from({ length: tableSize }, () => []);

  /** Each word has at least `blockLength` bytes; long ones make it fast. */
  constructor(words: Iterable<string>) {
    const distinct = [...new Set(words)].map((word, index) => {
      return { word, bytes: Buffer.from(word), index };
    });
    const window = Math.min(...distinct.map(({ bytes }) => bytes.length));
    this.#window = window;
    this.#steps = new Uint8Array(tableSize).fill(Math.min(255, window - blockLength + 1));
    for (const candidate of distinct) {
      const { bytes } = candidate;
      for (let end = blockLength; end <= window; end += 1) {
        const block = blockAt(bytes, end - 1);
        this.#steps[block] = Math.min(this.#steps[block] ?? 0, window - end);
      }
      this.#candidates[blockAt(bytes, window - 1)]?.push(candidate);
    }
  }

  /** The words in the text, in the order in which they were given. */
  find(text: string): readonly string[] {
    const bytes = Buffer.from(text);
    const found = new Set<Candidate>();
    for (let from = 0; ; ) {
      const start = this.#next(bytes, from, bytes.length);
      if (start < 0) break;
      for (const candidate of this.#candidatesAt(bytes, start)) {
        if (isAt(bytes, candidate.bytes, start, bytes.length)) found.add(candidate);
      }
      from = start + 1;
    }
    if (found.size === 0) return none;
    return [...found].sort((a, b) => a.index - b.index).map(({ word }) => word);
  }

  /** Whether there is any word in a part of the bytes. */
  isIn(bytes: Uint8Array, from: number, to: number): boolean {
    return this.#next(bytes, from, to) >= 0;
  }

  /** The first place at which a word begins; -1 when there is none. */
  #next(bytes: Uint8Array, from: number, to: number): number {
    const steps = this.#steps;
    const ahead = this.#window - 1;
    for (let end = from + ahead; end < to; ) {
      const step = steps[blockAt(bytes, end)] as number;
      if (step > 0) {
        end += step;
        continue;
      }
      const start = end - ahead;
      const candidates = this.#candidatesAt(bytes, start);
      for (let index = 0; index < candidates.length; index += 1) {
        if (isAt(bytes, (candidates[index] as Candidate).bytes, start, to)) return start;
      }
      end += 1;
    }
    return -1;
  }

  #candidatesAt(bytes: Uint8Array, start: number): readonly Candidate[] {
    return this.#candidates[blockAt(bytes, start + this.#window - 1)] ?? [];
  }
}

/** Of the bytes that end at this place. */
function blockAt(bytes: Uint8Array, end: number): number {
  const first = bytes[end - 2] as number;
  const second = bytes[end - 1] as number;
  return ((first << 9) ^ (second << 4) ^ (bytes[end] as number)) & (tableSize - 1);
}

function isAt(bytes: Uint8Array, word: Uint8Array, start: number, to: number): boolean {
  if (start + word.length > to) return false;
  for (let index = 0; index < word.length; index += 1) {
    if (bytes[start + index] !== word[index]) return false;
  }
  return true;
}
