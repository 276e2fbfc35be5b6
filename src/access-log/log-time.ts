// The ways in which logs write down an instant. Each is read with how exact it is: whole seconds are
// cut off and not rounded, so the instant lies in the second that begins there.
import type { WallMs } from "../environment/clock.ts";

export interface LogTime {
  readonly wallMs: WallMs;
  /** The instant lies in the span of this length that begins at `wallMs`. */
  readonly resolutionMs: number;
  /** It had no zone and was taken for UTC. */
  readonly isZoneGuessed?: boolean;
}

const monthNames = "JanFebMarAprMayJunJulAugSepOctNovDec";
const secondMs = 1_000;

/** Sticky, so that formats can look for it at a place: `15/Nov/2026:20:31:31 +0000`. */
export const timeLocalPattern = /\d{2}\/[A-Z][a-z]{2}\/\d{4}:\d{2}:\d{2}:\d{2} [+-]\d{4}/y;
/** `2026-11-15T20:31:31+00:00`, with or without a fraction. */
export const timeIsoPattern =
  /\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?/y;

/** Of a text or number in whichever form; undefined when it is none of them. */
export function logTime(value: string): LogTime | undefined {
  return localTime(value) ?? isoTime(value) ?? epochTime(value);
}

/** nginx's `$msec`: always exact, though a JSON writer may have cut the zeros of a fraction. */
export function msecTime(value: string): LogTime | undefined {
  const time = epochTime(value);
  return time && { ...time, resolutionMs: 1 };
}

function localTime(value: string): LogTime | undefined {
  const match =
    /^(\d{2})\/([A-Z][a-z]{2})\/(\d{4}):(\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(?: ([+-]\d{4}))?$/.exec(
      value,
    );
  if (match === null) return undefined;
  const [, day, name = "", year, clock, fraction, zone] = match;
  const place = monthNames.indexOf(name);
  if (place < 0 || place % 3 !== 0) return undefined;
  const month = String(place / 3 + 1).padStart(2, "0");
  return dated(`${year}-${month}-${day}T${clock}`, fraction, zone);
}

function isoTime(value: string): LogTime | undefined {
  const match =
    /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:[.,](\d{1,9}))?(Z|[+-]\d{2}:?\d{2})?$/.exec(
      value,
    );
  if (match === null) return undefined;
  const [, day, clock, fraction, zone] = match;
  return dated(`${day}T${clock}`, fraction, zone);
}

function zoneWithColon(zone: string): string {
  return zone === "Z" || zone.includes(":") ? zone : `${zone.slice(0, 3)}:${zone.slice(3)}`;
}

function dated(text: string, fraction = "", zone?: string): LogTime | undefined {
  const thousandths = fraction.slice(0, 3).padEnd(3, "0");
  const ms = Date.parse(`${text}.${thousandths}${zoneWithColon(zone ?? "Z")}`);
  if (Number.isNaN(ms)) return undefined;
  const resolutionMs = fraction === "" ? secondMs : 10 ** Math.max(0, 3 - fraction.length);
  return { wallMs: wall(ms), resolutionMs, ...(zone === undefined && { isZoneGuessed: true }) };
}

/** Numbers of this size and more count thousandths, millionths and so on: all are near today. */
const notSecondsFrom = 1e11;

/** Seconds since 1970, also in ms, µs or ns: no log is older than 1973 or newer than 5138. */
function epochTime(value: string): LogTime | undefined {
  if (!/^\d{9,19}(?:\.\d{1,9})?$/.test(value)) return undefined;
  let seconds = Number(value);
  let resolutionMs = value.includes(".") ? 1 : secondMs;
  while (seconds >= notSecondsFrom) {
    seconds /= secondMs;
    resolutionMs = 1;
  }
  return { wallMs: wall(Math.round(seconds * secondMs)), resolutionMs };
}

function wall(ms: number): WallMs {
  return ms as WallMs;
}
