// Times in saved objects: an object was not saved before the newest time in it.

/** No object of these kinds is half as deep. */
const depthMost = 32;

const timeField = /(?:Time|Timestamp|At|^time|-time)$/;

/** A deletion may be meant for the future. */
const futureField = "deletionTimestamp";

export function newestTimeMs(value: unknown, depthLeft = depthMost): number {
  if (depthLeft === 0 || typeof value !== "object" || value === null) return -Infinity;
  let newestMs = -Infinity;
  for (const [field, inner] of Object.entries(value)) {
    if (field === futureField) continue;
    const isTime = typeof inner === "string" && timeField.test(field);
    const ms = isTime ? timeMs(inner) : newestTimeMs(inner, depthLeft - 1);
    if (ms > newestMs) newestMs = ms;
  }
  return newestMs;
}

/** With a year of four digits, as Kubernetes writes it; NaN for anything else. */
export function timeMs(text: string): number {
  return /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN;
}
