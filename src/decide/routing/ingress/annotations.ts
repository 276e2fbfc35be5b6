// The annotations Lockstep understands, and what becomes of all others: they are ignored alone and
// reported, but one that was to keep people out closes the route.
import type { StringMap } from "../../../kube/kinds/intern.ts";
import { nearestNames } from "../../nearest-names.ts";
import type { AnnotationGroup, AnnotationInUse } from "./annotation-group.ts";
import { AnnotationReader, annotationPrefixes, type ReportProblem } from "./annotation-reader.ts";
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
    const reason = isSnippet(name) ? "SnippetIgnored" : "AnnotationIgnored";
    reader.report(name, refusalOf(name, index < guessedMax), reason);
  }
  return settings;
}

/** An Ingress with more unknown annotations was not misspelt, and guesses take time. */
const guessedMax = 20;

/** A slip of the pen: many real annotations that are not supported differ in more letters. */
const misspeltShare = 1 / 6;

/** An annotation of an Ingress, and its effect in ingress-nginx where that is another. */
export interface AnnotationUse {
  /** With its prefix. */
  readonly fullName: string;
  /** Lockstep has this annotation; what is wrong with its value is among the problems. */
  readonly isKnown: boolean;
  readonly difference: string | undefined;
}

const differences = new Map(
  annotationGroups.flatMap((group) => Object.entries(group.differences ?? {})),
);

/** For reports. `setting` reads the controller's ConfigMap. */
export function annotationUses(
  annotations: StringMap,
  setting: AnnotationInUse["setting"],
): readonly AnnotationUse[] {
  const reader = new AnnotationReader(annotations, () => undefined);
  const has = (name: string) => reader.has(name);
  return [...reader.names].map((name) => {
    const fullName = reader.fullName(name);
    const found = differences.get(name);
    const value = reader.text(name);
    const ofValue = typeof found === "string" ? found : found?.({ value, has, setting });
    const isOurs = fullName.startsWith(annotationPrefixes[0]);
    const difference = isOurs ? "ingress-nginx does not read this annotation" : ofValue;
    return { fullName, isKnown: known.has(name), difference };
  });
}

function refusalOf(name: string, guess: boolean): string {
  if (isSnippet(name)) {
    return "snippets are not supported, for security: text of an object never becomes nginx configuration";
  }
  const [meant] = guess ? nearestNames(name, known, misspeltShare) : [];
  if (meant !== undefined) return `unknown annotation, ignored; did you mean ${meant}?`;
  return "not supported, so it is ignored";
}

function isSnippet(name: string): boolean {
  return name.endsWith("-snippet");
}
