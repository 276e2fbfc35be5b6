// The profile that simulates a real cluster of any version.
import type { ProfileName } from "./profiles.ts";

/** By minor version: the first patch that compares the label of headless services correctly (PR 94112). */
const fixedIn: ReadonlyMap<number, number> = new Map([
  [16, Number.POSITIVE_INFINITY],
  [17, 13],
  [18, 10],
  [19, 3],
]);

const firstCached = 8;
const firstSliced = 21;
const firstReordered = 35;

/**
 * The lab version that publishes endpoints like this one. They differ in: rounds every 30 s up to 1.7, the
 * label bug of headless services from 1.16, EndpointSlices, and the order of publishing since 1.35.
 */
export function nearestProfile(gitVersion: string): ProfileName {
  const [, minorText, patchText] = /^v1\.(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  const minor = minorText === undefined ? firstSliced : Number(minorText);
  if (minor < firstCached) return "1.7";
  if (minor >= firstReordered) return "1.36";
  if (minor >= firstSliced) return "1.33";
  const fixed = fixedIn.get(minor);
  if (fixed !== undefined) return Number(patchText) < fixed ? "1.17.3" : "1.17.13";
  return minor < Math.min(...fixedIn.keys()) ? "1.9" : "1.17.13";
}
