// Durations for people: three significant digits and always a unit; above a minute two units,
// because 646 s is hard to read. Findings, verdicts and terminal output use them.

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** `0`, `0.25 ms`, `12 ms`, `1.2 s`, `10 min 46 s`, `3 h 5 min`, `2 d 4 h`. */
export function durationText(ms: number): string {
  if (ms < 0) return `−${durationText(-ms)}`;
  // Rounded first: 999.7 ms must not become `1000 ms`, nor 59.97 s `60 s`.
  const inMs = significant(ms);
  if (inMs < 0.01) return "0";
  if (inMs < secondMs) return `${inMs} ms`;
  const inSeconds = significant(ms / secondMs);
  if (inSeconds < 60) return `${inSeconds} s`;
  const [large, largeUnit, small, smallUnit] = inTwoUnits(ms);
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** Of something that grows: tenths of a second, from 10 s on whole ones, so that the text is calm. */
export function ageText(ms: number): string {
  if (ms >= secondMs && ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const stepMs = ms >= 10_000 ? secondMs : 1;
  return durationText(Math.floor(ms / stepMs) * stepMs);
}

/** In seven columns at most, for tables: `12.3 ms`, `31.2 s`, `10m46s`, `3h05m`, `2d04h`. */
export function shortDuration(ms: number): string {
  if (ms < 0) return `−${shortDuration(-ms)}`;
  // A third decimal of a fraction of a millisecond would be one column too many.
  if (ms < 1) return durationText(Number(ms.toFixed(2)));
  if (significant(ms / secondMs) < 60) return durationText(ms);
  const [large, [largeUnit], small, [smallUnit]] = inTwoUnits(ms);
  return `${large}${largeUnit}${String(small).padStart(2, "0")}${smallUnit}`;
}

function significant(value: number): number {
  return Number(value.toPrecision(3));
}

/** For a minute and more: minutes and seconds, hours and minutes, or days and hours. */
function inTwoUnits(ms: number): readonly [number, string, number, string] {
  if (Math.round(ms / secondMs) < hourMs / secondMs) return two(ms, minuteMs, "min", secondMs, "s");
  if (Math.round(ms / minuteMs) < dayMs / minuteMs) return two(ms, hourMs, "h", minuteMs, "min");
  return two(ms, dayMs, "d", hourMs, "h");
}

function two(
  ms: number,
  largeMs: number,
  large: string,
  smallMs: number,
  small: string,
): readonly [number, string, number, string] {
  const units = Math.round(ms / smallMs);
  const perLarge = largeMs / smallMs;
  return [Math.floor(units / perLarge), large, units % perLarge, small];
}
