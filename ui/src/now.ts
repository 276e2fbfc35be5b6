// The time of the server, which ticks while the page is visible. Views that show ages read it; those
// that do not are not drawn again.
import { useEffect, useState } from "react";
import { store } from "./store.ts";

export function serverNow(): number {
  return Date.now() + store.known().clockOffsetMs;
}

/** Four times a second is smooth enough on a logarithmic axis, and cheap. */
const tickMs = 250;

export function useNow(everyMs = tickMs): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(serverNow());
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
