// Which certificate is shown for one name. The name belongs to the namespace whose routes it leads to;
// where it leads nowhere, to that of the oldest Ingress that has it in a rule or a tls entry. No other
// can have a certificate shown for it. Of the claims that may, the oldest whose secret can be used
// counts. Pure.
import type { Steps } from "../../environment/steps.ts";
import { coversName } from "../../sources/checked-certificate.ts";
import type { CertificateClaim } from "./certificate-claims.ts";
import type { CheckedSecret } from "./checked-secret.ts";
import { anyHost } from "./host-name.ts";
import { compareAge } from "./precedence.ts";
import { describeOrigin, type RouteOrigin, type RoutingProblem } from "./route.ts";

export interface NameClaims {
  readonly name: string;
  /** The Ingress whose namespace has the name as a host. */
  readonly owner: RouteOrigin | undefined;
  /** Every Ingress that has the name, in a rule or for TLS. */
  readonly holders: Iterable<RouteOrigin>;
  readonly claims: Iterable<CertificateClaim>;
  /** By `namespace/name`. */
  readonly secret: (key: string) => CheckedSecret;
  /** The default certificate, for the name of all others: no Ingress can have that then. */
  readonly taken?: string | undefined;
}

export interface NameCertificate {
  /** `namespace/name` of the secret whose certificate is shown; undefined for none. */
  readonly key: string | undefined;
  readonly problems: readonly RoutingProblem[];
}

export function* nameCertificate(asked: NameClaims): Steps<NameCertificate> {
  const owner = asked.owner ?? oldestOf(asked.holders);
  const problems: RoutingProblem[] = [];
  let shown = asked.taken;
  for (const claim of [...asked.claims].sort(compareClaims)) {
    yield;
    const { origin, key, where } = claim;
    const checked = asked.secret(key);
    const message = refusalOf(claim, { owner: owner ?? origin, key: shown }, checked);
    const isShown = message === undefined && checked.found !== undefined && shown !== key;
    if (isShown) shown = key;
    const [reason, said] = isShown
      ? (["CertificateExpired", checked.warning] as const)
      : (["CertificateIgnored", claim.isAlias ? undefined : message] as const);
    if (said !== undefined) problems.push({ origin, reason, message: `${where}: ${said}` });
  }
  return { key: shown, problems };
}

/** Why the claim does not get its name; undefined if it does, or if that is not known yet. */
function refusalOf(
  { name, origin, key }: CertificateClaim,
  holder: { readonly owner: RouteOrigin; readonly key: string | undefined },
  { found, problem }: CheckedSecret,
): string | undefined {
  if (holder.owner.namespace !== origin.namespace) {
    const owner = describeOrigin(holder.owner);
    return `${name} belongs to ${owner}, which takes precedence, so secret ${key} is not used`;
  }
  if (holder.key === key) return undefined;
  if (holder.key !== undefined) return `${name} uses ${holder.key}, which takes precedence`;
  if (found === undefined) return problem;
  if (name === anyHost || coversName(found, name)) return undefined;
  return `the certificate of ${key} is not for ${name}, so it is not used`;
}

/** Aliases after all others, then the older Ingress first; those of one as they stand. */
function compareClaims(a: CertificateClaim, b: CertificateClaim): number {
  if (a.isAlias !== b.isAlias) return a.isAlias ? 1 : -1;
  return compareAge(a.origin, b.origin);
}

function oldestOf(holders: Iterable<RouteOrigin>): RouteOrigin | undefined {
  let oldest: RouteOrigin | undefined;
  for (const one of holders) {
    if (oldest === undefined || compareAge(one, oldest) < 0) oldest = one;
  }
  return oldest;
}
