// The time of the server, which ticks while the page is visible. All views read the same tick, so that
// ages of one moment agree; views that show no ages are not drawn again. Without news from the server the
// time stands still: what waited then may wait no longer.
import { useSyncExternalStore } from "react";
import { store } from "./store.ts";

/** Four times a second is smooth enough on a logarithmic axis, and cheap. */
const tickMs = 250;

const listeners = new Set<() => void>();
let tickedAt = Date.now();
let wallAt = Date.now();

/** Once, before the page is drawn first. */
export function startClock(): void {
  setInterval(tick, tickMs);
  document.addEventListener("visibilitychange", tick);
}

function tick(): void {
  if (document.hidden) return;
  const { connection, clockOffsetMs } = store.known();
  wallAt = Date.now();
  tickedAt = ("since" in connection ? connection.since : wallAt) + clockOffsetMs;
  for (const listener of listeners) listener();
}

export function useNow(everyMs = tickMs): number {
  return useTicked(() => tickedAt - (tickedAt % everyMs));
}

/** Of this machine; it goes on without the server. */
export function useWallTime(everyMs: number): number {
  return useTicked(() => wallAt - (wallAt % everyMs));
}

/** Drawn again only when the text is another. */
export function useTimeText(textOf: (now: number) => string): string {
  return useTicked(() => textOf(tickedAt));
}

function useTicked<Value>(read: () => Value): Value {
  return useSyncExternalStore(subscribe, read);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
