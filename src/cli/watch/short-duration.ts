// A duration in seven columns at most, for tables: `12.3 ms`, `31.2 s`, `10m46s`, `3h05m`, `2d04h`.
import { durationText } from "../../journeys/duration-text.ts";

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Whatever was rounded to a minute by the longer form is one here too. */
const longestPlain = /^[−\d.]+( ms| s)?$/;

export function shortDuration(ms: number): string {
  // A third decimal of a fraction of a millisecond would be one column too many.
  const text = durationText(Math.abs(ms) < 1 ? Number(ms.toFixed(2)) : ms);
  if (longestPlain.test(text)) return text;
  if (ms < 0) return `−${shortDuration(-ms)}`;
  if (Math.round(ms / secondMs) < hourMs / secondMs) return two(ms, minuteMs, "m", secondMs, "s");
  if (Math.round(ms / minuteMs) < dayMs / minuteMs) return two(ms, hourMs, "h", minuteMs, "m");
  return two(ms, dayMs, "d", hourMs, "h");
}

function two(ms: number, largeMs: number, large: string, smallMs: number, small: string): string {
  const units = Math.round(ms / smallMs);
  const perLarge = largeMs / smallMs;
  const rest = String(units % perLarge).padStart(2, "0");
  return `${Math.floor(units / perLarge)}${large}${rest}${small}`;
}
