// Why it cannot be told whose an address was: nobody looked then, or only elsewhere. The most useful
// reason is the one that says what to save the next time.
import { durationText } from "../journeys/duration-text.ts";
import type { Evidence } from "./evidence.ts";
import type { Listing } from "./publications.ts";
import type { Span } from "./span.ts";

/** A part of a sentence. */
export function unknownAddress(
  evidence: Evidence,
  address: string,
  sent: Span,
  listed: Listing | undefined,
): string {
  if (listed?.podName !== undefined) {
    return `${listed.service} listed it as pod ${listed.podName}, of which nothing is known`;
  }
  if (listed !== undefined) {
    return `${listed.service} listed it without naming a pod, so its life is not known`;
  }
  const { podClusters, coverage } = evidence;
  if (podClusters.length === 0) return "no pods are known: give --recording or --objects";
  const later = evidence.lives.everAt(address);
  const firstMs = Math.min(...coverage.map(({ fromMs }) => fromMs));
  const lastMs = Math.max(...coverage.map(({ toMs }) => toMs));
  if (coverage.length > 0 && sent.toMs < firstMs) {
    return `the recording begins ${durationText(firstMs - sent.toMs)} after the request`;
  }
  if (coverage.length > 0 && sent.fromMs > lastMs) {
    return `the recording ends ${durationText(sent.fromMs - lastMs)} before the request`;
  }
  if (later !== undefined) {
    const { namespace, name } = later.facts;
    return `the first pod known to have had it, ${namespace}/${name}, came later`;
  }
  const clusters = podClusters.join(", ");
  return coverage.length > 0
    ? `no pod recorded in ${clusters} ever had it: another cluster's, or no pod's`
    : `no pod saved from ${clusters} has it: it was gone when they were saved`;
}
