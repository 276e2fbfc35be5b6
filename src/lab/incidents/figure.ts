// A figure of a play beside its references, and whether it agrees. Pure. An input of the play is never a
// result: a figure that follows from an input names it, and is neither counted nor compared.

export type Unit = "ms" | "requests" | "per second" | "count" | "share" | "factor";

export interface Figure {
  /** `puts-per-resync`: the same in every version, for machines. */
  readonly id: string;
  readonly text: string;
  readonly unit: Unit;
  /** Undefined when the play could not show it. */
  readonly measured: number | undefined;
  /** Empty where there is nothing to compare it with. */
  readonly expected: readonly Expectation[];
  /** The input that comes back as this figure, or was chosen so that it comes out: `50 workers`. */
  readonly fittedBy?: string;
  /** Tells the incident in a line, for a summary of many. */
  readonly isHeadline?: true;
}

/** A reference: compared between two bounds, or only shown. */
export type Expectation = Bounded | Remark;

interface Seen {
  readonly source: "write-up" | "real binaries";
  /** In its own words: `10–12 min`. */
  readonly text: string;
}

export interface Bounded extends Seen {
  /** Where it is one number: the difference is shown against it. */
  readonly value?: number;
  /** Both bounds are given, and both can be missed. */
  readonly from: number;
  readonly to: number;
}

interface Remark extends Seen {
  readonly value?: never;
  readonly from?: never;
  readonly to?: never;
}

export function isBounded(expectation: Expectation): expectation is Bounded {
  return expectation.from !== undefined;
}

/** Whether it counts and is compared with its references. */
export function isCompared({ fittedBy, expected }: Figure): boolean {
  return fittedBy === undefined && expected.some(isBounded);
}

/** Whether it lies between all bounds; a figure that is not compared cannot miss them. */
export function isWithinBounds(figure: Figure): boolean {
  const { measured, expected } = figure;
  if (!isCompared(figure)) return true;
  return (
    measured !== undefined &&
    expected.filter(isBounded).every(({ from, to }) => measured >= from && measured <= to)
  );
}
