// Figures and times as text: three significant digits, always a unit, relative times with the absolute
// one beside it for a title. Durations are those of the terminal.
import { ageText, durationText } from "../../src/environment/duration-text.ts";

/** `340 ms`, `10 min 46 s`; a dash where nothing was measured. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  return ms < 0.01 ? "0 ms" : durationText(ms);
}

/** Of something that grows. */
export function age(ms: number): string {
  return ms < 1 ? "0 ms" : ageText(ms);
}

export function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** `12 s ago`, `2 min ago`; clocks of two machines may differ, so the future is now. */
export function ago(at: number, now: number): string {
  const ms = now - at;
  const unitMs = [86_400_000, 3_600_000, 60_000, 1_000].find((one) => ms >= one);
  return unitMs === undefined ? "just now" : `${duration(Math.floor(ms / unitMs) * unitMs)} ago`;
}

/** `2026-11-18 13:24:58.120`, in the time zone of the reader. */
export function absolute(at: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${clockTime(at)}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** `13:24:58`. */
export function clockTime(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

export type Unit = "ms" | "count" | "per second" | "share";

/** A value of a chart with its unit. */
export function figure(value: number | null | undefined, unit: Unit): string {
  if (value === null || value === undefined) return "–";
  const short = Number(value.toPrecision(3)).toLocaleString("en-US");
  switch (unit) {
    case "ms":
      return duration(value);
    case "count":
      return short;
    case "per second":
      return `${short}/s`;
    case "share":
      return `${Number((value * 100).toPrecision(3))} %`;
  }
}
