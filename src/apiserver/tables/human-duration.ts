// Ages as kubectl users know them: two or three significant figures, never more than two units.
// The thresholds are those of k8s.io/apimachinery/pkg/util/duration HumanDuration.
import type { WallMs } from "../../environment/clock.ts";

/** Time since a timestamp; `<unknown>` when there is none. */
export function ageAt(timestamp: string, now: WallMs): string {
  const then = Date.parse(timestamp);
  return Number.isNaN(then) ? "<unknown>" : humanDuration(now - then);
}

export function humanDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / 1000);
  // Clocks of two machines may differ by a little; a larger difference is shown as invalid.
  if (seconds < -1) return "<invalid>";
  if (seconds < 120) return `${Math.max(0, seconds)}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return pair(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return pair(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (days < 8) return pair(days, "d", hours % 24, "h");
  if (days < 2 * daysOfYear) return `${days}d`;
  const years = Math.trunc(days / daysOfYear);
  if (years < 8) return pair(years, "y", days % daysOfYear, "d");
  return `${years}y`;
}

const daysOfYear = 365;

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
