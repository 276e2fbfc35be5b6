// Durations as Go prints them: `250ms`, `2.49s`, `1m0.5s`. Log lines of Kubernetes components are
// full of them.

const msPerMinute = 60_000;
const msPerHour = 60 * msPerMinute;

/** Go's resolution is a nanosecond: six digits behind a millisecond, nine behind a second. */
export function goDuration(ms: number): string {
  if (ms === 0) return "0s";
  if (ms < 1) return `${trimmed(ms * 1000, 3)}µs`;
  if (ms < 1000) return `${trimmed(ms, 6)}ms`;
  const hours = Math.floor(ms / msPerHour);
  const minutes = Math.floor((ms % msPerHour) / msPerMinute);
  const seconds = `${trimmed((ms % msPerMinute) / 1000, 9)}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}

function trimmed(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}
