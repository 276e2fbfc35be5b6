// The allowed operations on resourceVersions. They are opaque, except that since Kubernetes 1.35
// two versions of one resource may be compared as whole numbers when both are decimal.

/** A whole number without leading zero, of any length. */
const decimal = /^[1-9][0-9]*$/;

/** Negative, zero or positive; undefined when the order of the two cannot be known. */
export function compareResourceVersions(a: string, b: string): number | undefined {
  if (a === b) {
    return 0;
  }
  if (!decimal.test(a) || !decimal.test(b)) {
    return undefined;
  }
  // Without leading zeros the longer number is the larger, and equal lengths compare as text.
  if (a.length !== b.length) {
    return a.length - b.length;
  }
  return a < b ? -1 : 1;
}

/** Whether a watch at `version` has seen everything up to `target`; false when that is unknown. */
export function hasReached(version: string, target: string): boolean {
  const order = compareResourceVersions(version, target);
  return order !== undefined && order >= 0;
}

/** Whether `version` is surely older than `other`; false when that is unknown. */
export function isOlder(version: string, other: string): boolean {
  const order = compareResourceVersions(version, other);
  return order !== undefined && order < 0;
}
