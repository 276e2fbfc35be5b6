// Reads durations as Go prints them: `250ms`, `2.49s`, `1m0.5s`, `1h2m3s`.

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

const part = /(\d+(?:\.\d+)?)(ns|us|µs|μs|ms|s|m|h)/gy;

/** Milliseconds; undefined when the text is no duration. */
export function parseGoDuration(text: string): number | undefined {
  const digits = text.startsWith("-") ? text.slice(1) : text;
  if (digits === "0") return 0;
  let ms = 0;
  let read = 0;
  for (const [all, number, unit] of digits.matchAll(part)) {
    ms += Number(number) * (unitMs[unit ?? ""] ?? 0);
    read += all.length;
  }
  if (read === 0 || read !== digits.length) return undefined;
  return digits === text ? ms : -ms;
}
