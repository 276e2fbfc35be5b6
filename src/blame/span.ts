// An instant of the past as far as it is known. Logs and clusters write whole seconds, clocks of two
// machines differ, and what a list shows happened some time before it: a verdict that hangs on the
// order of two instants must know whether that order is certain. Times are wall times.

export interface Span {
  /** Not before this. */
  readonly fromMs: number;
  /** Not later than this; never before `fromMs`. */
  readonly toMs: number;
}

/** The order of two instants, where it is certain. */
export type Order = "before" | "after" | "unclear";

export function exactly(atMs: number): Span {
  return { fromMs: atMs, toMs: atMs };
}

/** From the first to the second, in whichever order they come. */
export function between(oneMs: number, otherMs: number): Span {
  return { fromMs: Math.min(oneMs, otherMs), toMs: Math.max(oneMs, otherMs) };
}

export function orderOf(one: Span, other: Span): Order {
  if (one.toMs <= other.fromMs) return "before";
  return one.fromMs >= other.toMs ? "after" : "unclear";
}

export function laterBy(span: Span, ms: number): Span {
  return { fromMs: span.fromMs + ms, toMs: span.toMs + ms };
}

/** With room on both sides for clocks that differ by so much. */
export function widenedBy(span: Span, ms: number): Span {
  return { fromMs: span.fromMs - ms, toMs: span.toMs + ms };
}

/** A length of time as far as it is known. */
export interface Length {
  readonly leastMs: number;
  readonly mostMs: number;
}

/** How long it is from one instant to the other; never negative. */
export function lengthOf(from: Span, to: Span): Length {
  return {
    leastMs: Math.max(0, to.fromMs - from.toMs),
    mostMs: Math.max(0, to.toMs - from.fromMs),
  };
}

/** The best guess at it. */
export function middleOf({ fromMs, toMs }: Span): number {
  return fromMs + (toMs - fromMs) / 2;
}

/** So many instants of it, evenly apart and with both ends; one where it is exact. */
export function instantsOf(span: Span, count: number): readonly number[] {
  const { fromMs, toMs } = span;
  if (fromMs === toMs) return [fromMs];
  return Array.from(
    { length: count },
    (_, index) => fromMs + ((toMs - fromMs) * index) / (count - 1),
  );
}
