// Durations as Go writes and reads them: `250ms`, `2.49s`, `1m0.5s`, `-1.5h`. Logs and flags of
// Kubernetes components are full of them, and our own flags take them.

const unitNanos: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const nanosPerMs = 1e6;
const msPerMinute = 60_000;
const msPerHour = 60 * msPerMinute;

/** Go keeps a duration in an int64 of nanoseconds. */
const maxNanos = 2n ** 63n - 1n;

const whole = /^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/;
const part = /(\d*)\.?(\d*)([a-zµμ]+)/g;

/** Undefined when the text is no duration. */
export function parseGoNanos(text: string): bigint | undefined {
  const sign = /^[+-]/.exec(text)?.[0] ?? "";
  const rest = text.slice(sign.length);
  if (rest === "0") return 0n;
  if (!whole.test(rest)) return undefined;
  let nanos = 0n;
  for (const [, integer = "", fraction = "", unit = ""] of rest.matchAll(part)) {
    const size = unitNanos[unit] ?? 0n;
    nanos += BigInt(integer) * size + (BigInt(fraction) * size) / 10n ** BigInt(fraction.length);
    if (nanos > maxNanos) return undefined;
  }
  return sign === "-" ? -nanos : nanos;
}

/** In milliseconds; undefined when the text is no duration. */
export function parseGoDuration(text: string): number | undefined {
  const nanos = parseGoNanos(text);
  return nanos === undefined ? undefined : Number(nanos) / nanosPerMs;
}

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
