// Two clocks that must not be mixed up. Monotonic time measures how long something took; wall time
// says when it happened, is shared with other machines only as well as their clocks agree, and may
// jump. They are different types so that the compiler refuses to subtract one from the other.

declare const monotonicBrand: unique symbol;
declare const wallBrand: unique symbol;

/** Milliseconds since an arbitrary start; never goes back. Only differences mean something. */
export type MonotonicMs = number & { readonly [monotonicBrand]: true };

/** Milliseconds since 1970-01-01T00:00:00Z by this machine's clock; may jump either way. */
export type WallMs = number & { readonly [wallBrand]: true };

export interface Clock {
  monotonicMs(): MonotonicMs;
  wallMs(): WallMs;
}

/** Time from one monotonic instant to a later one. */
export function elapsedMs(from: MonotonicMs, to: MonotonicMs): number {
  return to - from;
}

/** The instant `ms` after a monotonic instant. */
export function monotonicAfter(instant: MonotonicMs, ms: number): MonotonicMs {
  return (instant + ms) as MonotonicMs;
}

/** `2026-01-02T03:04:05Z`: Kubernetes `Time`, whole seconds. */
export function toTime(wall: WallMs): string {
  return `${new Date(wall).toISOString().slice(0, 19)}Z`;
}

/** `2026-01-02T03:04:05.678000Z`: Kubernetes `MicroTime`. */
export function toMicroTime(wall: WallMs): string {
  return `${new Date(wall).toISOString().slice(0, 23)}000Z`;
}
