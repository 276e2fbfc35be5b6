// A time on the command line: so long ago (`90s`, `1h30m`, `7d`), or an instant as clocks and logs
// write it (`2026-03-01T12:00:00Z`; without a zone it is this machine's).
import { InvalidArgumentError } from "commander";
import type { WallMs } from "../../../environment/clock.ts";
import { longDuration } from "../../long-duration.ts";

export type AskedTime =
  | { readonly type: "ago"; readonly ms: number; readonly text: string }
  | { readonly type: "at"; readonly wallMs: WallMs; readonly text: string };

const dayMs = 24 * 3_600_000;

/** Before there was anything to keep. */
const agoMostMs = 3_650 * dayMs;

export function askedTime(text: string): AskedTime {
  const ms = longDuration(text);
  if (ms !== undefined && ms >= 0 && ms <= agoMostMs) return { type: "ago", ms, text };
  // A bare number is a date to the parser, and a mistake to a person.
  const wallMs = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(wallMs)) return { type: "at", wallMs: wallMs as WallMs, text };
  throw new InvalidArgumentError(
    "It must be how long ago, such as 90s, 1h30m or 7d, or a time such as 2026-03-01T12:00:00Z.",
  );
}

export function instantOf(asked: AskedTime, nowMs: WallMs): WallMs {
  return asked.type === "at" ? asked.wallMs : ((nowMs - asked.ms) as WallMs);
}

/** `in the last 1h`, `since 2026-03-01T12:00:00Z`. */
export function sinceText(asked: AskedTime): string {
  return asked.type === "ago" ? `in the last ${asked.text}` : `since ${asked.text}`;
}
