// Hands changes to the handlers: in order, one at a time, each handler once per change. A handler
// only takes note, by enqueueing a key for instance. One that fails is counted and cannot keep the
// change from the others, nor stop the reflector.

import { objectKey, type Projected } from "../kinds/kind.ts";
import type { Change } from "../store/store-change.ts";
import type { LimitedLog } from "./limited-log.ts";
import type { ReflectorCounts } from "./reflector-counts.ts";

/** Called synchronously; the store already shows the change. */
export type ChangeHandler<T> = (change: Change<T>) => void;

export interface DeliveryOptions<T> {
  readonly handlers: readonly ChangeHandler<T>[];
  readonly counts: ReflectorCounts;
  readonly log: LimitedLog;
}

export class Delivery<T extends Projected> {
  readonly #handlers: readonly ChangeHandler<T>[];
  readonly #counts: ReflectorCounts;
  readonly #log: LimitedLog;

  constructor(options: DeliveryOptions<T>) {
    this.#handlers = options.handlers;
    this.#counts = options.counts;
    this.#log = options.log;
  }

  readonly deliver = (change: Change<T>): void => {
    for (const handler of this.#handlers) {
      try {
        const result: unknown = handler(change);
        if (result instanceof Promise) {
          // An async handler breaks the contract, but its failure must not become unhandled.
          result.catch((error: unknown) => this.#failed(change, error));
        }
      } catch (error) {
        this.#failed(change, error);
      }
    }
  };

  #failed(change: Change<T>, error: unknown): void {
    this.#counts.handlerFailed();
    this.#log.warn("a handler failed on a change", {
      change: change.type,
      object: objectKey(change.object.metadata),
      error,
    });
  }
}
