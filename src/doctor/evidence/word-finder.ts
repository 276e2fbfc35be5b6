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

interface Place {
  readonly from: number;
  readonly candidates: readonly Candidate[];
}

const none: readonly string[] = [];

export class WordFinder {
  /** Of the shortest word: only as many characters of each word are in the table. */
  readonly #window: number;
  /** By block: how far the end of the window may move; 0 at the end of a word's window. */
  readonly #steps: Uint8Array;
  /** By block: the words whose window ends with it. */
  readonly #candidates = new Map<number, readonly Candidate[]>();

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
      const last = blockAt(bytes, window - 1);
      this.#candidates.set(last, [...(this.#candidates.get(last) ?? []), candidate]);
    }
  }

  /** The words in the text, in the order in which they were given. */
  find(text: string): readonly string[] {
    const bytes = Buffer.from(text);
    const found = new Set<Candidate>();
    let place = this.#next(bytes, 0, bytes.length);
    for (; place !== undefined; place = this.#next(bytes, place.from + 1, bytes.length)) {
      for (const candidate of place.candidates) found.add(candidate);
    }
    if (found.size === 0) return none;
    return [...found].sort((a, b) => a.index - b.index).map(({ word }) => word);
  }

  /** Whether there is any word in a part of the bytes. */
  isIn(bytes: Uint8Array, from: number, to: number): boolean {
    return this.#next(bytes, from, to) !== undefined;
  }

  /** The first place at which words begin. */
  #next(bytes: Uint8Array, from: number, to: number): Place | undefined {
    const steps = this.#steps;
    const ahead = this.#window - 1;
    for (let end = from + ahead; end < to; ) {
      const block = blockAt(bytes, end);
      const step = steps[block] ?? 1;
      if (step > 0) {
        end += step;
        continue;
      }
      const start = end - ahead;
      const candidates = (this.#candidates.get(block) ?? []).filter(
        (one) => start + one.bytes.length <= to && isAt(bytes, one.bytes, start),
      );
      if (candidates.length > 0) return { from: start, candidates };
      end += 1;
    }
    return undefined;
  }
}

/** Of the bytes that end at this place. */
function blockAt(bytes: Uint8Array, end: number): number {
  const mixed =
    ((bytes[end - 2] ?? 0) << 9) ^ ((bytes[end - 1] ?? 0) << 4) ^ (bytes[end] ?? 0);
  return mixed & (tableSize - 1);
}

function isAt(bytes: Uint8Array, word: Uint8Array, start: number): boolean {
  for (let index = 0; index < word.length; index += 1) {
    if (bytes[start + index] !== word[index]) return false;
  }
  return true;
}
