// The annotations Lockstep understands, and what becomes of all others: they are ignored alone and
// reported, but one that was to keep people out closes the route.
import type { StringMap } from "../../../kube/kinds/intern.ts";
import { nearestNames } from "../../nearest-names.ts";
import type { AnnotationGroup } from "./annotation-group.ts";
import { AnnotationReader, type ReportProblem } from "./annotation-reader.ts";
import { allowedRanges, deniedRanges, rateLimits } from "./annotations/access.ts";
import { aliases } from "./annotations/aliases.ts";
import { clientCertificates, passwords } from "./annotations/authentication.ts";
import { balancing } from "./annotations/balancing.ts";
import { canary } from "./annotations/canary.ts";
import { cors } from "./annotations/cors.ts";
import { externalAuth } from "./annotations/external-auth.ts";
import { bodySize, protocol, retries, special, timeouts } from "./annotations/proxying.ts";
import { redirects, rewrites, tlsRedirects, wwwRedirect } from "./annotations/redirects.ts";
import { type IngressSettings, plainSettings } from "./ingress-settings.ts";

export const annotationGroups: readonly AnnotationGroup[] = [
  tlsRedirects,
  rewrites,
  redirects,
  wwwRedirect,
  bodySize,
  special,
  timeouts,
  retries,
  protocol,
  balancing,
  canary,
  allowedRanges,
  deniedRanges,
  rateLimits,
  clientCertificates,
  passwords,
  externalAuth,
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
  const unknown = [...reader.names].filter((name) => !known.has(name));
  for (const [index, name] of unknown.entries()) {
    reader.report(name, refusalOf(name, index < guessedMax));
  }
  return settings;
}

/** An Ingress with more unknown annotations was not misspelt, and guesses take time. */
const guessedMax = 20;

/** A slip of the pen: many real annotations that are not supported differ in more letters. */
const misspeltShare = 1 / 6;

function refusalOf(name: string, guess: boolean): string {
  if (name.endsWith("-snippet")) {
    return "snippets are not supported, for security: text of an object never becomes nginx configuration";
  }
  const [meant] = guess ? nearestNames(name, known, misspeltShare) : [];
  if (meant !== undefined) return `unknown annotation, ignored; did you mean ${meant}?`;
  return "not supported, so it is ignored";
}
