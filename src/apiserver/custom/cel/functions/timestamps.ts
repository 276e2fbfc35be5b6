// Points in time and their parts. Without a time zone the parts are those in UTC.
import { defineMethod, type Overload } from "../overloads.ts";
import { CelError, type Duration, type Timestamp } from "../values.ts";

const nanosPerMs = 1_000_000n;
const nanosPerSecond = 1_000_000_000n;
const msPerDay = 86_400_000;

type Part = (utc: Date) => number;

const parts: Readonly<Record<string, Part>> = {
  getFullYear: (utc) => utc.getUTCFullYear(),
  getMonth: (utc) => utc.getUTCMonth(),
  getDate: (utc) => utc.getUTCDate(),
  getDayOfMonth: (utc) => utc.getUTCDate() - 1,
  getDayOfWeek: (utc) => utc.getUTCDay(),
  getDayOfYear: (utc) => Math.floor((utc.getTime() - Date.UTC(utc.getUTCFullYear(), 0)) / msPerDay),
  getHours: (utc) => utc.getUTCHours(),
  getMinutes: (utc) => utc.getUTCMinutes(),
  getSeconds: (utc) => utc.getUTCSeconds(),
  getMilliseconds: (utc) => utc.getUTCMilliseconds(),
};

const durationParts: Readonly<Record<string, (nanos: bigint) => bigint>> = {
  getHours: (nanos) => nanos / (3600n * nanosPerSecond),
  getMinutes: (nanos) => nanos / (60n * nanosPerSecond),
  getSeconds: (nanos) => nanos / nanosPerSecond,
  getMilliseconds: (nanos) => (nanos / nanosPerMs) % 1000n,
};

export const timestamps: readonly Overload[] = [
  ...Object.entries(parts).flatMap(([name, part]) => [
    defineMethod(`${name}(timestamp) int`, (time: Timestamp) => partOf(part, time, 0)),
    defineMethod(`${name}(timestamp, string) int`, (time: Timestamp, zone: string) =>
      partOf(part, time, offsetMs(zone, time)),
    ),
  ]),
  ...Object.entries(durationParts).map(([name, part]) =>
    defineMethod(`${name}(duration) int`, (duration: Duration) => part(duration.nanos)),
  ),
];

const timePattern =
  /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?\d*([Zz]|[+-]\d\d:\d\d)$/;

/** RFC 3339, in nanoseconds since 1970. */
export function parseTimestamp(text: string): bigint {
  const found = timePattern.exec(text);
  const [, date = "", time = "", fraction = "", zone = ""] = found ?? [];
  const ms = Date.parse(`${date}T${time}${zone.toUpperCase()}`);
  if (found === null || Number.isNaN(ms)) {
    throw new CelError("type conversion error from 'string' to 'google.protobuf.Timestamp'");
  }
  return BigInt(ms) * nanosPerMs + BigInt(fraction.padEnd(9, "0"));
}

export function formatTimestamp(nanos: bigint): string {
  const fraction = ((nanos % nanosPerSecond) + nanosPerSecond) % nanosPerSecond;
  const seconds = Number((nanos - fraction) / nanosPerSecond);
  const digits = String(fraction).padStart(9, "0").replace(/0+$/, "");
  const base = new Date(seconds * 1000).toISOString().slice(0, 19);
  return `${base}${digits === "" ? "" : `.${digits}`}Z`;
}

function partOf(part: Part, time: Timestamp, shiftMs: number): bigint {
  return BigInt(part(new Date(Number(time.nanos / nanosPerMs) + shiftMs)));
}

/** How far the zone's clock is ahead of UTC then: `+02:00`, `-5:30` or `Europe/Berlin`. */
function offsetMs(zone: string, time: Timestamp): number {
  const fixed = /^([+-]?)(\d\d?):(\d\d)$/.exec(zone);
  if (fixed !== null) {
    const [, sign, hours, minutes] = fixed;
    return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  }
  const at = Math.floor(Number(time.nanos / nanosPerSecond)) * 1000;
  try {
    const shown = new Intl.DateTimeFormat("en-US", {
      timeZone: zone === "" ? "UTC" : zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    }).formatToParts(at);
    const value = (type: string) => Number(shown.find((part) => part.type === type)?.value ?? 0);
    const local = Date.UTC(
      value("year"),
      value("month") - 1,
      value("day"),
      value("hour"),
      value("minute"),
      value("second"),
    );
    return local - at;
  } catch (error) {
    if (error instanceof RangeError) throw new CelError(`unknown time zone ${zone}`);
    throw error;
  }
}
