// Which certificate is shown for which name: a pure function of the Ingresses' tls entries and the
// secrets they name. A name belongs to the namespace of the oldest Ingress that has it in a rule or a
// tls entry; nobody else can have a certificate shown for it. A secret that cannot be used harms only
// the names it was meant for.
import type { WallMs } from "../../environment/clock.ts";
import type { Ingress } from "../../kube/kinds/ingress.ts";
import { objectKey } from "../../kube/kinds/kind.ts";
import {
  type CheckedCertificate,
  checkedCertificate,
  coversName,
} from "../../sources/checked-certificate.ts";
import type { KnownSecret, SecretReference } from "../../sources/secret-source.ts";
import type { Certificate } from "../decision.ts";
import { type CertificateClaim, claimsOf, type IngressClaims } from "./certificate-claims.ts";
import { anyHost } from "./host-name.ts";
import { compareAge } from "./precedence.ts";
import { describeOrigin, type RouteOrigin, type RoutingProblem } from "./route.ts";

export interface CertificatesInput {
  /** Those that are ours. */
  readonly ingresses: readonly Ingress[];
  readonly secret: (reference: SecretReference) => KnownSecret;
  /** For every name that no Ingress has a usable certificate for. */
  readonly defaultCertificate?: SecretReference | undefined;
  readonly now: WallMs;
}

export interface CertificateTable {
  /** By `namespace/name` of the secret. */
  readonly certificates: ReadonlyMap<string, Certificate>;
  /** By name asked for in TLS: a key of `certificates`. */
  readonly serverNames: ReadonlyMap<string, string>;
  readonly problems: readonly RoutingProblem[];
  /** What is wrong with the default certificate, which is no object's fault. */
  readonly defaultProblem: string | undefined;
}

export const noCertificates: CertificateTable = {
  certificates: new Map(),
  serverNames: new Map(),
  problems: [],
  defaultProblem: undefined,
};

/** `namespace/name` of every secret that is referred to. */
export function wantedSecrets(
  ingresses: readonly Ingress[],
  defaultCertificate?: SecretReference,
): ReadonlySet<string> {
  const wanted = new Set(defaultCertificate === undefined ? [] : [objectKey(defaultCertificate)]);
  for (const ingress of ingresses) {
    for (const { key } of claimsOf(ingress).claims) wanted.add(key);
  }
  return wanted;
}

export function certificates(input: CertificatesInput): CertificateTable {
  const { secret, now } = input;
  const used = new Map<string, Certificate>();
  const serverNames = new Map<string, string>();
  const defaultProblem = showDefault(input, used, serverNames);
  const ordered = input.ingresses.map(claimsOf).sort((a, b) => compareAge(a.origin, b.origin));
  const problems = ordered.flatMap((one) => one.problems);
  // The older Ingress first, aliases after all others.
  const claims = [
    ...ordered.flatMap((one) => one.claims),
    ...ordered.flatMap(({ aliases }) => aliases),
  ];
  const owners = ownersOf(ordered, new Set(claims.map(({ name }) => name)));
  for (const claim of claims) {
    const { name, origin, key, where, reference } = claim;
    const checked = checkedSecret(secret(reference), key, now);
    const holder = { owner: owners.get(name) ?? origin, key: serverNames.get(name) };
    const message = refusalOf(claim, holder, checked);
    const isShown = message === undefined && checked.found !== undefined && holder.key !== key;
    if (isShown && checked.found !== undefined) {
      used.set(key, checked.found.certificate);
      serverNames.set(name, key);
    }
    const [reason, said] = isShown
      ? (["CertificateExpired", checked.warning] as const)
      : (["CertificateIgnored", claim.isAlias ? undefined : message] as const);
    if (said !== undefined) problems.push({ origin, reason, message: `${where}: ${said}` });
  }
  return { certificates: used, serverNames, problems, defaultProblem };
}

/** Before all others, so that no Ingress can have any name there is. Gives what is wrong with it. */
function showDefault(
  { defaultCertificate, secret, now }: CertificatesInput,
  used: Map<string, Certificate>,
  serverNames: Map<string, string>,
): string | undefined {
  if (defaultCertificate === undefined) return undefined;
  const key = objectKey(defaultCertificate);
  const { found, problem, warning } = checkedSecret(secret(defaultCertificate), key, now);
  if (found !== undefined) {
    used.set(key, found.certificate);
    serverNames.set(anyHost, key);
  }
  return problem ?? warning;
}

/** Why the claim does not get its name; undefined when it does, or when nobody knows yet. */
function refusalOf(
  { name, origin, key }: CertificateClaim,
  holder: { readonly owner: RouteOrigin; readonly key: string | undefined },
  { found, problem }: Checked,
): string | undefined {
  if (holder.owner.namespace !== origin.namespace) {
    const owner = describeOrigin(holder.owner);
    return `${name} belongs to ${owner}, which came first, so the secret ${key} is not used`;
  }
  if (holder.key === key) return undefined;
  if (holder.key !== undefined) return `${name} is served with ${holder.key}, which came first`;
  if (found === undefined) return problem;
  if (name === anyHost || coversName(found, name)) return undefined;
  return `the certificate of ${key} is not for ${name}, so it is not used`;
}

/** The oldest Ingress that has each of the names, in a rule or for TLS. */
function ownersOf(
  ordered: readonly IngressClaims[],
  wanted: ReadonlySet<string>,
): ReadonlyMap<string, RouteOrigin> {
  const owners = new Map<string, RouteOrigin>();
  for (const { origin, names } of wanted.size === 0 ? [] : ordered) {
    for (const name of names) {
      if (wanted.has(name) && !owners.has(name)) owners.set(name, origin);
    }
  }
  return owners;
}

interface Checked {
  readonly found?: CheckedCertificate;
  /** Why there is none. */
  readonly problem?: string;
  /** It is shown all the same. */
  readonly warning?: string;
}

/** An expired certificate is shown: clients then say what is wrong, which another would hide. */
function checkedSecret(known: KnownSecret, key: string, now: WallMs): Checked {
  switch (known.kind) {
    case "unread":
      return {};
    case "absent":
      return { problem: `there is no secret ${key} of type kubernetes.io/tls` };
    case "refused":
      return { problem: `the secret ${key} may not be read: ${known.detail}` };
    case "present": {
      const found = checkedCertificate(known.secret);
      if (typeof found === "string") return { problem: `the secret ${key} ${found}` };
      if (found.notAfterMs > now) return { found };
      const since = new Date(found.notAfterMs).toISOString();
      return { found, warning: `the certificate of ${key} has expired on ${since}` };
    }
  }
}
