// Keeps the values of one metric label few: the first so many are shown by name, all later ones as
// `other`. A value that was once shown stays shown, so that no series changes its meaning.

/** The shared label of all values that came after the bound was reached. */
export const otherValues = "other";

export class LabelBound {
  readonly #max: number;
  readonly #shown = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  /** The value itself, or `other`. */
  of(value: string): string {
    if (this.#shown.has(value)) return value;
    if (this.#shown.size >= this.#max) return otherValues;
    this.#shown.add(value);
    return value;
  }
}
