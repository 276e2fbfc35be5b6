// When neither the pods nor the slices are fresh, what was last known is all there is, and that is
// what the pods said; unless the slices are clearly the later word.
import { elapsedMs } from "../../environment/clock.ts";
import type { Candidate } from "./verdict.ts";

/** Watches are proved current every 24 s at the latest, so less than this says nothing. */
const clearlyLaterMs = 30_000;

/** Whether the pods, though stale, are the best source there is for this endpoint. */
export function isLastTruth({ service, podWatch, publishedWatch }: Candidate): boolean {
  if (service.selector === undefined || podWatch.state !== "stale") return false;
  if (publishedWatch.state === "fresh" || podWatch.currentAtMs === undefined) return false;
  if (publishedWatch.currentAtMs === undefined) return true;
  return elapsedMs(podWatch.currentAtMs, publishedWatch.currentAtMs) <= clearlyLaterMs;
}
