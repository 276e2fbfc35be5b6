// A promise that fails without a handler is a mistake of the program under test: it must fail its
// own simulated run, and not the process or a later test. So during a run this replaces every other
// listener for unhandled rejections.

export interface CaughtRejections {
  /** Throws the first reason, if there was one. */
  throwFirst(): void;
  /** Gives the other listeners their place back. */
  forget(): void;
}

export function catchRejections(fail: (reason: unknown) => void): CaughtRejections {
  const reasons: unknown[] = [];
  const others = process.listeners("unhandledRejection");
  const onRejection = (reason: unknown): void => {
    reasons.push(reason);
    fail(reason);
  };
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", onRejection);
  return {
    throwFirst: () => {
      if (reasons.length > 0) throw reasons[0];
    },
    forget: () => {
      process.off("unhandledRejection", onRejection);
      for (const other of others) process.on("unhandledRejection", other);
    },
  };
}
