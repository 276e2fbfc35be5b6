// A time that may be days, on the command line: `90s`, `1h30m`, `7d`, `1d12h`.
import { parseGoDuration } from "../environment/go-duration.ts";

const dayMs = 24 * 3_600_000;

/** In milliseconds; undefined when it is none. */
export function longDuration(text: string): number | undefined {
  const [, days, rest = ""] = /^(?:(\d+(?:\.\d+)?)d)?(.*)$/.exec(text) ?? [];
  if (days === undefined) return parseGoDuration(text);
  const more = rest === "" ? 0 : parseGoDuration(rest);
  return more === undefined ? undefined : Number(days) * dayMs + more;
}
