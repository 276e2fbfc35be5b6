// The time of the server, which ticks while the page is visible. All views read the same tick, so that
// ages of one moment agree; views that show no ages are not drawn again.
import { useSyncExternalStore } from "react";
import { store } from "./store.ts";

/** Four times a second is smooth enough on a logarithmic axis, and cheap. */
const tickMs = 250;

const listeners = new Set<() => void>();
let tickedAt = Date.now();

/** Once, before the page is drawn first. */
export function startClock(): void {
  setInterval(tick, tickMs);
  document.addEventListener("visibilitychange", tick);
}

function tick(): void {
  if (document.hidden) return;
  tickedAt = Date.now() + store.known().clockOffsetMs;
  for (const listener of listeners) listener();
}

export function useNow(everyMs = tickMs): number {
  return useTicked((now) => now - (now % everyMs));
}

/** Drawn again only when the text is another. */
export function useTimeText(textOf: (now: number) => string): string {
  return useTicked(textOf);
}

function useTicked<Value>(select: (now: number) => Value): Value {
  return useSyncExternalStore(subscribe, () => select(tickedAt));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
