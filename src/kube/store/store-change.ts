// A change of the store: a new version of an object, or its removal.
import type { Projected } from "../kinds/kind.ts";

/** How a change was learnt: from the watch as it happened, or some time after, from a list. */
export type LearntBy = "watch" | "list";

export type Change<T> =
  | { readonly type: "added"; readonly object: T; readonly learntBy: LearntBy }
  /** Always the same uid: a successor with the same name is a deletion and an addition. */
  | {
      readonly type: "updated";
      readonly object: T;
      readonly previous: T;
      readonly learntBy: LearntBy;
    }
  /** `object` is the final state, or the last one that was seen when `finalStateUnknown`. */
  | {
      readonly type: "deleted";
      readonly object: T;
      readonly finalStateUnknown: boolean;
      readonly learntBy: LearntBy;
    };

/** Calls `deliver` with what happened when `object` took the place of `previous`: one or two changes. */
export function describeChange<T extends Projected>(
  previous: T | undefined,
  object: T,
  learntBy: LearntBy,
  deliver: (change: Change<T>) => void,
): void {
  if (previous !== undefined && previous.metadata.uid === object.metadata.uid) {
    deliver({ type: "updated", object, previous, learntBy });
    return;
  }
  if (previous !== undefined) {
    deliver({ type: "deleted", object: previous, finalStateUnknown: true, learntBy });
  }
  deliver({ type: "added", object, learntBy });
}
