// How large the values of an expression can be, as far as schemas bound them: characters of texts,
// items of lists, entries of maps. Estimates of cost are made of these. All are upper bounds.

/** Larger than every bound: nothing limits it. Go's largest uint64. */
export const unbounded = 2 ** 64;

/** The sizes of a variable and of what is inside it. */
export interface SizeTree {
  readonly max: number;
  /** By escaped name. */
  readonly fields: ReadonlyMap<string, SizeTree>;
  /** Of the items of a list, or the values of a map. */
  readonly elements: SizeTree | undefined;
  /** Of the keys of a map. */
  readonly keys: SizeTree | undefined;
}

export function plus(a: number, b: number): number {
  return Math.min(unbounded, a + b);
}

export function times(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : Math.min(unbounded, a * b);
}

/** The cost of looking at so much, a unit of cost each time `1 / factor` units. */
export function byFactor(size: number, factor: number): number {
  return Math.min(unbounded, Math.ceil(size * factor));
}
