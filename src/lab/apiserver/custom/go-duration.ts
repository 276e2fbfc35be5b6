// Durations as Go writes and reads them: `1h30m`, `1.5s`, `-2ms`.

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

/** Go keeps a duration in an int64 of nanoseconds. */
const maxNanos = 2n ** 63n - 1n;

/** In nanoseconds; undefined when the text is no duration. */
export function parseDuration(text: string): bigint | undefined {
  const sign = /^[+-]/.exec(text)?.[0] ?? "";
  const rest = text.slice(sign.length);
  if (rest === "0") return 0n;
  if (!/^((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$/.test(rest)) return undefined;
  let nanos = 0n;
  for (const [, amount = "", unit = ""] of rest.matchAll(/([\d.]+)([a-zµμ]+)/g)) {
    const [whole = "", fraction = ""] = amount.split(".");
    const size = unitNanos[unit] ?? 0n;
    nanos += BigInt(whole === "" ? 0 : whole) * size;
    if (fraction !== "") nanos += (BigInt(fraction) * size) / 10n ** BigInt(fraction.length);
    if (nanos > maxNanos) return undefined;
  }
  return sign === "-" ? -nanos : nanos;
}

/** As protobuf writes it in JSON, and CEL as text: `5400s`, `0.5s`. */
export function secondsText(nanos: bigint): string {
  const sign = nanos < 0n ? "-" : "";
  return `${sign}${decimal(nanos < 0n ? -nanos : nanos, 1_000_000_000n)}s`;
}

function decimal(value: bigint, unit: bigint): string {
  const digits = String(unit).length - 1;
  const fraction = String(value % unit)
    .padStart(digits, "0")
    .replace(/0+$/, "");
  return fraction === "" ? String(value / unit) : `${value / unit}.${fraction}`;
}
