// How far one watch can be relied on, in the three ways that decisions tell apart.
import type { MonotonicMs } from "../environment/clock.ts";
import type { Projected } from "../kube/kinds/kind.ts";
import type { Reflector } from "../kube/reflector/reflector.ts";

export interface WatchStatus {
  readonly state:
    | "fresh"
    /** Its data may be outdated; see `detail`. */
    | "stale"
    /** The API server refuses it by its rules: we have no permission, or it has no such resource. */
    | "refused";
  /** Why it is not fresh, in words; empty when it is. */
  readonly detail: string;
  /** Everything that was true at this instant has been seen. */
  readonly currentAtMs: MonotonicMs | undefined;
  /** Why its last list was not applied, in words; absent when it was. */
  readonly doubt?: string;
}

/** Of a watch that does not exist yet, because what the server offers is still being asked. */
export const notStarted: WatchStatus = {
  state: "stale",
  detail: "nothing has been listed yet",
  currentAtMs: undefined,
};

export function watchStatus<T extends Projected, I extends string>(
  reflector: Pick<Reflector<T, I>, "freshness" | "condition">,
): WatchStatus {
  const { fresh, reason, currentAtMs, doubt } = reflector.freshness();
  if (fresh) return { state: "fresh", detail: "", currentAtMs };
  if (doubt !== undefined) return { state: "stale", detail: doubt, currentAtMs, doubt };
  const { type, message } = reflector.condition();
  if (type === "refused") return { state: "refused", detail: message, currentAtMs };
  if (type !== "retrying") return { state: "stale", detail: reason ?? message, currentAtMs };
  // The failure is more useful than the fact that no data has arrived.
  const detail = currentAtMs === undefined ? message : `${reason}: ${message}`;
  return { state: "stale", detail, currentAtMs };
}
