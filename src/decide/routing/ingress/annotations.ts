// The annotations Lockstep understands, and what becomes of all others: they are ignored alone and
// reported, but one that was to keep people out closes the route.
import type { StringMap } from "../../../kube/kinds/intern.ts";
import type { AnnotationGroup } from "./annotation-group.ts";
import { AnnotationReader, type ReportProblem } from "./annotation-reader.ts";
import { authentication, rateLimits, sourceRanges } from "./annotations/access.ts";
import { aliases } from "./annotations/aliases.ts";
import { balancing } from "./annotations/balancing.ts";
import { canary } from "./annotations/canary.ts";
import { cors } from "./annotations/cors.ts";
import { bodySize, protocol, retries, timeouts } from "./annotations/proxying.ts";
import { redirects, rewrites, tlsRedirects } from "./annotations/redirects.ts";
import { type IngressSettings, plainSettings } from "./ingress-settings.ts";

export const annotationGroups: readonly AnnotationGroup[] = [
  tlsRedirects,
  rewrites,
  redirects,
  bodySize,
  timeouts,
  retries,
  protocol,
  balancing,
  canary,
  sourceRanges,
  rateLimits,
  authentication,
  cors,
  aliases,
];

const known: ReadonlySet<string> = new Set(annotationGroups.flatMap(({ names }) => names));

export function readAnnotations(annotations: StringMap, report: ReportProblem): IngressSettings {
  const reader = new AnnotationReader(annotations, report);
  if (reader.isEmpty) return plainSettings;
  let settings = plainSettings;
  for (const group of annotationGroups) {
    if (!group.names.some((name) => reader.has(name))) continue;
    const part = group.read(reader);
    settings = { ...settings, ...part, policy: { ...settings.policy, ...part.policy } };
  }
  for (const name of reader.names) {
    if (!known.has(name)) reader.report(name, refusalOf(name));
  }
  return settings;
}

function refusalOf(name: string): string {
  if (name.endsWith("-snippet")) {
    return "snippets are not supported, because no text of an object becomes nginx configuration";
  }
  return "it is not supported, so it is ignored";
}
