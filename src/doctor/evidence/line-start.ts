// Where a line of a log begins, as opposed to the rest of a line that was wrapped, a row of a table or
// a part of an object.

const anyStart =
  /[IWEF]\d{4} +\d\d:\d\d:\d\d|\w\.go:\d{1,5}\]|^\[(?:DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL)\] |^\[(?:warn|error|crit)\] \d+#\d+: |^\[\d{4}-\d\d-\d\dT\d\d:/;

export function isLineStart(text: string): boolean {
  const bytes = Buffer.from(text.slice(0, plainStartMax), "latin1");
  return isPlainStart(bytes, 0, bytes.length) || anyStart.test(text);
}

/** No plain start needs more. */
const plainStartMax = 24;

const [zero, nine, space, quote] = [0x30, 0x39, 0x20, 0x22] as const;
const [dash, slash, colon, dot] = [0x2d, 0x2f, 0x3a, 0x2e] as const;
const [brace, equals, letterT] = [0x7b, 0x3d, 0x74] as const;
const severityLetters = new Set(Buffer.from("IWEF"));

/**
 * The common forms, known by their first bytes: klog, dates, JSON, logrus, syslog, and access logs that
 * begin with an address. Other starts of lines exist.
 */
export function isPlainStart(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from < plainStartMax) return false;
  const first = bytes[from] ?? 0;
  if (isDigit(first)) return isDate(bytes, from) || isAddress(bytes, from);
  if (first === brace) return bytes[from + 1] === quote;
  if (first === letterT) return bytes[from + 4] === equals && bytes[from + 5] === quote;
  if (severityLetters.has(first) && areDigits(bytes, from + 1, 4)) return bytes[from + 5] === space;
  // `Nov 18 13:05:00 node-1 …`.
  return (
    bytes[from + 3] === space &&
    bytes[from + 6] === space &&
    bytes[from + 9] === colon &&
    areDigits(bytes, from + 7, 2)
  );
}

/** `2026-11-18`, `2026/11/18`. */
function isDate(bytes: Uint8Array, from: number): boolean {
  const fifth = bytes[from + 4];
  const isSeparated = fifth === dash || fifth === slash;
  return isSeparated && areDigits(bytes, from, 4) && areDigits(bytes, from + 5, 2);
}

/** `10.0.0.1 - `. */
function isAddress(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (isDigit(bytes[at] ?? 0) || bytes[at] === dot) at += 1;
  return bytes[at] === space && bytes[at + 1] === dash && bytes[at + 2] === space;
}

function areDigits(bytes: Uint8Array, from: number, count: number): boolean {
  for (let at = from; at < from + count; at += 1) {
    if (!isDigit(bytes[at] ?? 0)) return false;
  }
  return true;
}

function isDigit(code: number): boolean {
  return code >= zero && code <= nine;
}
