// Which names an Ingress wants a certificate for, which names it has, and which secret has its users.
// Pure; found once for each version of an Ingress, because all of them are looked at whenever one
// changes.
import { atOnce, type Steps } from "../../environment/steps.ts";
import type { Ingress } from "../../kube/kinds/ingress.ts";
import { objectKey } from "../../kube/kinds/kind.ts";
import type { UserListForm } from "../../sources/checked-users.ts";
import type { SecretReference } from "../../sources/secret-source.ts";
import { hostOf, wildcardOver, wwwCounterpart } from "./host-name.ts";
import { readAnnotations } from "./ingress/annotations.ts";
import { ingressOrigin } from "./ingress/ingress-routes.ts";
import { type IngressSettings, userListKey } from "./ingress/ingress-settings.ts";
import type { RouteOrigin, RoutingProblem } from "./route.ts";
import { shown } from "./shown-text.ts";

/** One name that one Ingress wants one secret's certificate for. */
export interface CertificateClaim {
  readonly name: string;
  readonly origin: RouteOrigin;
  readonly reference: SecretReference;
  /** `namespace/name` of the secret. */
  readonly key: string;
  /** The field that says so. */
  readonly where: string;
  /** No entry has the name itself, so the claim yields to those of entries that have it. */
  readonly isAlias: boolean;
}

export interface IngressClaims {
  readonly origin: RouteOrigin;
  /** Every name it has in a rule or for TLS. */
  readonly names: readonly string[];
  readonly claims: readonly CertificateClaim[];
  readonly aliases: readonly CertificateClaim[];
  readonly passwords: PasswordClaim | undefined;
  /** Problems that do not depend on secrets. */
  readonly problems: readonly RoutingProblem[];
}

/** The users that an Ingress lets in. */
export interface PasswordClaim {
  readonly origin: RouteOrigin;
  readonly reference: SecretReference;
  /** `namespace/name` of the secret. */
  readonly secret: string;
  readonly form: UserListForm;
  /** The name of the list in policies. */
  readonly key: string;
}

/** Of one object: entries multiply the names they do not list; no hand-written list has more. */
export const maxUnlistedClaims = 20_000;

const known = new WeakMap<Ingress, IngressClaims>();

/** An Ingress, or the claims of an object of another front end. */
export type Claimant = Ingress | IngressClaims;

export function claimsOf(claimant: Claimant): IngressClaims {
  if ("claims" in claimant) return claimant;
  return known.get(claimant) ?? atOnce(claimsInSteps(claimant));
}

export function* claimsInSteps(ingress: Claimant): Steps<IngressClaims> {
  if ("claims" in ingress) return ingress;
  const found = known.get(ingress) ?? (yield* readClaims(ingress));
  known.set(ingress, found);
  return found;
}

function* readClaims(ingress: Ingress): Steps<IngressClaims> {
  const { namespace } = ingress.metadata;
  const origin = ingressOrigin(ingress);
  const ruleNames = hostsOf(ingress.rules.map(({ host }) => host));
  const tlsNames = hostsOf(ingress.tls.flatMap(({ hosts }) => hosts));
  const claims: CertificateClaim[] = [];
  const aliases: CertificateClaim[] = [];
  const problems: RoutingProblem[] = [];
  // Problems of the annotation are reported where the routes are made.
  const settings = readAnnotations(ingress.annotations, () => undefined);
  const wwwNames = settings.redirectsWww
    ? ruleNames.flatMap((host) => wwwCounterpart(host) ?? [])
    : [];
  const otherNames = new Set([...settings.aliases, ...wwwNames]);
  const unlisted = new UnlistedNames(ruleNames, tlsNames, otherNames);
  for (const [index, entry] of ingress.tls.entries()) {
    yield;
    const { secretName } = entry;
    const where = `spec.tls[${index}]`;
    if (secretName !== "" && !isSecretName(secretName)) {
      const message = `${where}: ${shown(secretName)} is not a valid name of a secret, so it is ignored`;
      problems.push({ origin, reason: "CertificateIgnored", message });
    }
    if (!isSecretName(secretName)) continue;
    const reference = { namespace, name: secretName };
    const claim = { origin, reference, key: objectKey(reference), where };
    const listed = hostsOf(entry.hosts);
    const { wanted, others } = unlisted.of(entry.hosts.length > 0 ? listed : undefined);
    for (const name of [...listed, ...wanted]) {
      claims.push({ ...claim, name, isAlias: false });
      yield;
    }
    for (const name of others) {
      aliases.push({ ...claim, name, isAlias: true });
      yield;
    }
  }
  if (unlisted.isExceeded) {
    const what = `more than ${maxUnlistedClaims} hosts have no entry that lists them`;
    const message = `spec.tls: ${what}, so the last entries are used only for the hosts they list`;
    problems.push({ origin, reason: "CertificateIgnored", message });
  }
  const names = [...new Set([...ruleNames, ...tlsNames])];
  const passwords = passwordClaim(origin, settings);
  return { origin, names, claims, aliases, passwords, problems };
}

interface EntryNames {
  readonly wanted: readonly string[];
  readonly others: readonly string[];
}

const noNames: EntryNames = { wanted: [], others: [] };

/** Names that an entry of `tls` is for though it does not list them. Every entry may be for all of them. */
class UnlistedNames {
  isExceeded = false;
  /** Those of the rules that no entry lists. */
  readonly #hosts: readonly string[];
  /** The same, by the wildcard over them. */
  readonly #under = new Map<string, string[]>();
  readonly #otherNames: ReadonlySet<string>;
  #count = 0;

  constructor(
    ruleNames: readonly string[],
    tlsNames: readonly string[],
    otherNames: ReadonlySet<string>,
  ) {
    const listed = new Set(tlsNames);
    this.#hosts = ruleNames.filter((host) => !listed.has(host));
    this.#otherNames = otherNames;
    for (const host of this.#hosts) {
      const above = wildcardOver(host) ?? "";
      const known = this.#under.get(above);
      if (known === undefined) this.#under.set(above, [host]);
      else known.push(host);
    }
  }

  /** Of an entry that lists these; undefined for one that lists none. */
  of(listed: readonly string[] | undefined): EntryNames {
    if (this.isExceeded) return noNames;
    // An entry without hosts is for those of the rules that no other entry names.
    const wanted = listed === undefined ? this.#hosts : [];
    // The hosts of the rules under an entry's wildcard are the Ingress's own, also if another
    // Ingress has the wildcard.
    const covered = (listed ?? wanted).map((name) => this.#under.get(name) ?? []);
    const coveredCount = covered.reduce((sum, { length }) => sum + length, 0);
    this.#count += wanted.length + coveredCount + this.#otherNames.size;
    if (this.#count > maxUnlistedClaims) {
      this.isExceeded = true;
      return noNames;
    }
    return { wanted, others: [...covered.flat(), ...this.#otherNames] };
  }
}

/** Nothing where no password is asked for, or where the secret is another namespace's. */
function passwordClaim(
  origin: RouteOrigin,
  { basicAuth }: IngressSettings,
): PasswordClaim | undefined {
  const key = basicAuth && userListKey(origin.namespace, basicAuth);
  if (basicAuth === undefined || key === undefined) return undefined;
  const reference = { namespace: origin.namespace, name: basicAuth.name };
  return { origin, reference, secret: objectKey(reference), form: basicAuth.form, key };
}

/** Without a slash, a comma or anything else that means something where secrets are asked for. */
function isSecretName(text: string): boolean {
  return /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(text);
}

/** Each once; invalid host names are left out. */
function hostsOf(written: readonly string[]): readonly string[] {
  return [...new Set(written.map(hostOf).filter((host) => host !== undefined))];
}
