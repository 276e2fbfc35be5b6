// Statements that hold unless this program has a mistake. One that does not hold throws a programmer
// error, which nothing should catch and go on. Never for what comes from outside: that is validated,
// and refused with an error of its own.

/** An invariant does not hold: a mistake of this program. */
export class BrokenInvariantError extends Error {
  override readonly name = "BrokenInvariantError";
  readonly code = "BROKEN_INVARIANT";
}

type OnBroken = (error: BrokenInvariantError) => void;

/**
 * The elements that a costly assertion may visit each time that it is reached, so that a run with
 * all checks stays nearly as fast: one over a thousand elements is checked each 63rd time.
 */
const elementsPerCall = 16;

/** Listeners that enable costly assertions; none in ordinary use. */
const checkers = new Set<OnBroken>();
let isChecking = false;
/** By message, the elements that it was allowed to look at and did not. */
const unused = new Map<string, number>();

/** For what takes constant time; always checked. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) broken(message);
}

/**
 * For what walks through a structure, or is reached with every event; checked in simulations and tests
 * only. `size` is how many elements the check looks at: a large one is not checked every time.
 */
export function assertCostly(holds: () => boolean, message: string, size = 1): void {
  if (isChecking && isDue(message, size) && !holds()) broken(message);
}

/**
 * Costly assertions are checked until the returned function is called. `onBroken` gets to know of
 * every assertion that does not hold, even where its error is caught.
 */
export function startCostlyChecks(onBroken: OnBroken): () => void {
  const checker: OnBroken = (error) => onBroken(error);
  checkers.add(checker);
  isChecking = true;
  // Later checks must not depend on earlier ones, so that a seed repeats.
  unused.clear();
  return () => {
    checkers.delete(checker);
    isChecking = checkers.size > 0;
  };
}

function isDue(message: string, size: number): boolean {
  const allowed = (unused.get(message) ?? 0) + elementsPerCall;
  unused.set(message, size > allowed ? allowed : Math.min(allowed - size, elementsPerCall));
  return size <= allowed;
}

function broken(message: string): never {
  const error = new BrokenInvariantError(message);
  for (const onBroken of checkers) onBroken(error);
  throw error;
}
