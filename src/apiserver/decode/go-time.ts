// RFC 3339 times, with the messages of Go's parser.

export const timeLayout = "2006-01-02T15:04:05Z07:00";
export const microTimeLayout = "2006-01-02T15:04:05.000000Z07:00";

const whole = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** Undefined for a valid time. */
export function timeProblem(text: string, layout: string): string | undefined {
  const [matched, year, month, day] = whole.exec(text) ?? [];
  const isReal = matched !== undefined && !Number.isNaN(Date.parse(text));
  if (isReal && Number(day) <= daysIn(Number(year), Number(month))) {
    return undefined;
  }
  const opening = `parsing time ${JSON.stringify(text)}`;
  let rest = text;
  for (const { pattern, shown, outOfRange } of elements) {
    const [found] = pattern.exec(rest) ?? [];
    if (found === undefined) {
      return `${opening} as "${layout}": cannot parse ${JSON.stringify(rest)} as "${shown}"`;
    }
    if (outOfRange?.(Number(found)) === true) {
      return `${opening}: ${names[shown]} out of range`;
    }
    rest = rest.slice(found.length);
  }
  return rest === ""
    ? `${opening}: day out of range`
    : `${opening}: extra text: ${JSON.stringify(rest)}`;
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

interface LayoutElement {
  readonly pattern: RegExp;
  /** Its name in the layout. */
  readonly shown: string;
  readonly outOfRange?: (value: number) => boolean;
}

const names: Readonly<Record<string, string>> = {
  "01": "month",
  "02": "day",
  "15": "hour",
  "04": "minute",
  "05": "second",
};

const twoDigits = /^\d\d/;

const elements: readonly LayoutElement[] = [
  { pattern: /^\d{4}/, shown: "2006" },
  { pattern: /^-/, shown: "-" },
  { pattern: twoDigits, shown: "01", outOfRange: (month) => month < 1 || month > 12 },
  { pattern: /^-/, shown: "-" },
  { pattern: twoDigits, shown: "02", outOfRange: (day) => day < 1 || day > 31 },
  { pattern: /^T/, shown: "T" },
  { pattern: twoDigits, shown: "15", outOfRange: (hour) => hour > 23 },
  { pattern: /^:/, shown: ":" },
  { pattern: twoDigits, shown: "04", outOfRange: (minute) => minute > 59 },
  { pattern: /^:/, shown: ":" },
  { pattern: twoDigits, shown: "05", outOfRange: (second) => second > 59 },
  { pattern: /^(\.\d+)?(Z|[+-]\d\d:\d\d)/, shown: "Z07:00" },
];
