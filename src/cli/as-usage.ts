// What is wrong with a file or an address is said to whoever named it, as a mistake in the command.
import { UsageError } from "./command.ts";

type ErrorKind = new (...args: never[]) => Error;

/** Does the work; what goes wrong in one of these kinds becomes a `UsageError`. */
export async function asUsage<Result>(
  kinds: readonly ErrorKind[],
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    return throwAsUsage(kinds, error);
  }
}

/** Throws it as a `UsageError` if it is of one of these kinds, and else as it is. */
export function throwAsUsage(kinds: readonly ErrorKind[], error: unknown, before = ""): never {
  if (!(error instanceof Error) || !kinds.some((kind) => error instanceof kind)) throw error;
  throw new UsageError(`${before}${error.message}`, { cause: error });
}
