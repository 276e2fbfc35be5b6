// Selects the certificate for each name, from the Ingresses' tls entries, the secrets they name and
// the namespaces that hosts belong to. The result depends only on these, the default and the time.
// Earlier results are kept, so a change costs only the names it is about. An unusable secret harms
// only the names it was meant for. Invariant: `#names` and `#secrets` hold the claims of exactly
// the Ingresses that joined and did not leave, and the table has the result of `nameCertificate`
// for each name.
import { assertCostly } from "../../environment/assert.ts";
import type { WallMs } from "../../environment/clock.ts";
import { atOnce, type Steps } from "../../environment/steps.ts";
import { objectKey } from "../../kube/kinds/kind.ts";
import type { KnownSecret, SecretReference, WantedSecrets } from "../../sources/secret-source.ts";
import type { Certificate } from "../decision.ts";
import {
  type CertificateClaim,
  type Claimant,
  claimsInSteps,
  claimsOf,
} from "./certificate-claims.ts";
import { type CheckedSecret, checkedSecret, isSameCheck } from "./checked-secret.ts";
import { anyHost, wildcardOver } from "./host-name.ts";
import { type NameCertificate, nameCertificate } from "./name-certificate.ts";
import { compareAge } from "./precedence.ts";
import type { RouteOrigin, RoutingProblem } from "./route.ts";
import { claimOfSetting, type SecretClaim, wantedBy } from "./wanted-secrets.ts";

/** Its maps change under the reader with every decision. */
export interface CertificateTable {
  /** By `namespace/name` of the secret. */
  readonly certificates: ReadonlyMap<string, Certificate>;
  /** By name asked for in TLS: a key of `certificates`, or `noCertificate`. */
  readonly serverNames: ReadonlyMap<string, string>;
  readonly problems: readonly RoutingProblem[];
  /** The problem of the default certificate, which belongs to no object. */
  readonly defaultProblem: string | undefined;
}

export interface CertificateChanges {
  /** Keys of certificates that are others than before, or shown no longer. */
  readonly certificates: ReadonlySet<string>;
  /** Names that are shown another secret's certificate than before, or none. */
  readonly serverNames: ReadonlySet<string>;
  /** Other secrets are referred to than before. */
  readonly secrets: boolean;
}

/** A new version joins, and the one before leaves. */
export interface ClaimantChanges {
  readonly joined: readonly Claimant[];
  readonly left: readonly Claimant[];
}

export interface KnownSecrets {
  readonly secret: (reference: SecretReference) => KnownSecret;
  readonly now: WallMs;
  /** They may have changed since they were last read; otherwise only unread ones are read. */
  readonly areNew: boolean;
}

/** The namespaces that hosts belong to; see Routing. */
export interface HostOwners {
  /** Undefined for a name that no namespace has for itself. */
  ownerOf(name: string): RouteOrigin | undefined;
  readonly changes: {
    /** Those that may belong to another namespace than before. */
    readonly hosts: ReadonlySet<string>;
  };
}

/** For a name whose certificate would be that of another namespace: the proxy has none of this key. */
export const noCertificate = "";

interface Name {
  readonly holders: Set<RouteOrigin>;
  readonly claims: Set<CertificateClaim>;
}

interface NamedSecret {
  readonly reference: SecretReference;
  readonly claims: Set<CertificateClaim>;
  /** The names that its certificate is shown for. */
  readonly shownFor: Set<string>;
  checked: CheckedSecret;
}

/** Every secret that is referred to. */
export function wantedSecrets(
  ingresses: readonly Claimant[],
  defaultCertificate?: SecretReference,
): WantedSecrets {
  const ofIngresses = ingresses.flatMap((ingress) => {
    const { claims, aliases } = claimsOf(ingress);
    return [...claims, ...aliases];
  });
  if (defaultCertificate === undefined) return wantedBy(ofIngresses);
  return wantedBy([claimOfSetting(objectKey(defaultCertificate)), ...ofIngresses]);
}

export class Certificates {
  readonly #defaultKey: string | undefined;
  readonly #names = new Map<string, Name>();
  /** Hosts that belong to a namespace. */
  readonly #owned = new Set<string>();
  /** By wildcard, the names of `#names` and `#owned` under it. */
  readonly #under = new Map<string, Set<string>>();
  readonly #secrets = new Map<string, NamedSecret>();
  readonly #certificates = new Map<string, Certificate>();
  readonly #serverNames = new Map<string, string>();
  /** Problems of Ingresses that do not depend on secrets, and problems of names. */
  readonly #ingressProblems = new Map<Claimant, readonly RoutingProblem[]>();
  readonly #nameProblems = new Map<string, readonly RoutingProblem[]>();
  /** Of both. */
  #problems: readonly RoutingProblem[] = [];
  /** Secrets that have not been checked yet. */
  readonly #unchecked = new Set<string>();
  /** When the first certificate that is in use and has not expired will have. */
  #nextExpiryMs = Number.POSITIVE_INFINITY;

  constructor(options: { readonly defaultCertificate?: SecretReference | undefined }) {
    const { defaultCertificate } = options;
    if (defaultCertificate === undefined) return;
    this.#defaultKey = objectKey(defaultCertificate);
    this.#secretOf(this.#defaultKey, defaultCertificate);
  }

  get table(): CertificateTable {
    const ofDefault = this.#default()?.checked;
    return {
      certificates: this.#certificates,
      serverNames: this.#serverNames,
      problems: this.#problems,
      defaultProblem: ofDefault?.problem ?? ofDefault?.warning,
    };
  }

  /** Every secret that is referred to. */
  *wanted(): Steps<WantedSecrets> {
    const oldest: SecretClaim[] = [];
    if (this.#defaultKey !== undefined) oldest.push(claimOfSetting(this.#defaultKey));
    for (const { claims } of this.#secrets.values()) {
      let first: SecretClaim | undefined;
      for (const claim of claims) {
        if (first === undefined || compareAge(claim.origin, first.origin) < 0) first = claim;
        yield;
      }
      if (first !== undefined) oldest.push(first);
    }
    return wantedBy(oldest);
  }

  /** Decides again for the names of these changes, and of new secrets. */
  change(
    { joined, left }: ClaimantChanges,
    known: KnownSecrets,
    owners: HostOwners = noOwners,
  ): CertificateChanges {
    return atOnce(this.changing({ joined, left }, known, owners));
  }

  /** The same in steps. Before the last one the maps of the table are half of the old and the new. */
  *changing(
    { joined, left }: ClaimantChanges,
    known: KnownSecrets,
    owners: HostOwners,
  ): Steps<CertificateChanges> {
    const touched = new Set<string>(owners.changes.hosts);
    for (const ingress of joined) yield* this.#enter(ingress, touched);
    for (const ingress of left) yield* this.#leave(ingress, touched);
    const isFresh = this.#unchecked.size > 0;
    yield* this.#check(known, touched);
    const changes = yield* this.#decide(touched, owners);
    this.#problems = yield* this.#gathered();
    const before = this.#secrets.size;
    for (const ingress of left) yield* this.#forgetSecrets(ingress);
    this.#assertInStep(joined, owners);
    return { ...changes, secrets: isFresh || this.#secrets.size < before };
  }

  #default(): NamedSecret | undefined {
    return this.#defaultKey === undefined ? undefined : this.#secrets.get(this.#defaultKey);
  }

  *#enter(ingress: Claimant, touched: Set<string>): Steps<void> {
    const { origin, names, claims, aliases, problems } = yield* claimsInSteps(ingress);
    if (problems.length > 0) this.#ingressProblems.set(ingress, problems);
    for (const name of names) {
      this.#nameOf(name).holders.add(origin);
      touched.add(name);
      yield;
    }
    for (const claim of [...claims, ...aliases]) {
      this.#secretOf(claim.key, claim.reference).claims.add(claim);
      this.#nameOf(claim.name).claims.add(claim);
      touched.add(claim.name);
      yield;
    }
  }

  *#leave(ingress: Claimant, touched: Set<string>): Steps<void> {
    const { origin, names, claims, aliases } = claimsOf(ingress);
    this.#ingressProblems.delete(ingress);
    for (const name of names) {
      this.#names.get(name)?.holders.delete(origin);
      touched.add(name);
      yield;
    }
    for (const claim of [...claims, ...aliases]) {
      this.#secrets.get(claim.key)?.claims.delete(claim);
      this.#names.get(claim.name)?.claims.delete(claim);
      touched.add(claim.name);
      yield;
    }
  }

  /** Forgets those of its secrets that no Ingress names now. */
  *#forgetSecrets(ingress: Claimant): Steps<void> {
    const { claims, aliases } = claimsOf(ingress);
    for (const { key } of [...claims, ...aliases]) {
      const isNamed = key === this.#defaultKey || (this.#secrets.get(key)?.claims.size ?? 0) > 0;
      if (!isNamed) this.#secrets.delete(key);
      yield;
    }
  }

  #nameOf(name: string): Name {
    const known = this.#names.get(name) ?? { holders: new Set(), claims: new Set() };
    this.#names.set(name, known);
    return known;
  }

  #secretOf(key: string, reference: SecretReference): NamedSecret {
    const known = this.#secrets.get(key);
    if (known !== undefined) return known;
    const made = { reference, claims: new Set<CertificateClaim>(), shownFor: new Set<string>() };
    const named: NamedSecret = { ...made, checked: {} };
    this.#secrets.set(key, named);
    this.#unchecked.add(key);
    return named;
  }

  /** Takes the state of secrets; a changed one touches the names that want it. */
  *#check({ secret, now, areNew }: KnownSecrets, touched: Set<string>): Steps<void> {
    const isAll = areNew || now >= this.#nextExpiryMs;
    // The next expiry is computed again if all secrets are checked.
    if (isAll) this.#nextExpiryMs = Number.POSITIVE_INFINITY;
    for (const key of isAll ? this.#secrets.keys() : this.#unchecked) {
      yield;
      const named = this.#secrets.get(key);
      if (named === undefined) continue;
      const checked = checkedSecret(secret(named.reference), key, now);
      const { found, warning } = checked;
      if (found !== undefined && warning === undefined) {
        this.#nextExpiryMs = Math.min(this.#nextExpiryMs, found.notAfterMs);
      }
      if (isSameCheck(named.checked, checked)) continue;
      named.checked = checked;
      for (const { name } of named.claims) touched.add(name);
      if (key === this.#defaultKey) touched.add(anyHost);
    }
    this.#unchecked.clear();
  }

  *#decide(touched: Set<string>, owners: HostOwners): Steps<Omit<CertificateChanges, "secrets">> {
    const changes = { certificates: new Set<string>(), serverNames: new Set<string>() };
    const { certificates, serverNames } = changes;
    // A name without a certificate of its own depends on the wildcard over it, and both on any name.
    const isAnyTouched = touched.delete(anyHost);
    if (isAnyTouched) yield* this.#decideName(anyHost, owners, changes);
    if (serverNames.has(anyHost)) for (const name of this.#allNames()) touched.add(name);
    for (const name of touched) {
      if (!isWildcard(name)) continue;
      yield* this.#decideName(name, owners, changes);
      // Its hosts may belong to another namespace now, and be shown another certificate.
      for (const host of this.#under.get(name) ?? []) touched.add(host);
    }
    for (const name of touched) {
      if (!isWildcard(name)) yield* this.#decideName(name, owners, changes);
    }
    for (const key of certificates) {
      if (!this.#showCertificate(key)) certificates.delete(key);
      yield;
    }
    return changes;
  }

  *#gathered(): Steps<readonly RoutingProblem[]> {
    const gathered: RoutingProblem[] = [];
    for (const each of [this.#ingressProblems, this.#nameProblems]) {
      for (const problems of each.values()) {
        for (const one of problems) gathered.push(one);
        yield;
      }
    }
    return gathered;
  }

  #allNames(): readonly string[] {
    return [...this.#names.keys(), ...this.#owned].filter((name) => name !== anyHost);
  }

  /** Notes among the changes the name, if another certificate is shown now, and both certificates. */
  *#decideName(
    name: string,
    owners: HostOwners,
    {
      certificates,
      serverNames,
    }: { readonly certificates: Set<string>; readonly serverNames: Set<string> },
  ): Steps<void> {
    const before = this.#serverNames.get(name);
    const { holders = none, claims = none } = this.#names.get(name) ?? {};
    const owner = owners.ownerOf(name);
    this.#keepName(name, { isNamed: holders.size + claims.size > 0, isOwned: owner !== undefined });
    const { key, problems } = yield* this.#certificateFor(name, owner);
    if (problems.length === 0) this.#nameProblems.delete(name);
    else this.#nameProblems.set(name, problems);
    this.#secrets.get(before ?? "")?.shownFor.delete(name);
    if (key === undefined) this.#serverNames.delete(name);
    else this.#serverNames.set(name, key);
    this.#secrets.get(key ?? "")?.shownFor.add(name);
    if (before !== key) serverNames.add(name);
    for (const one of [before, key]) if (one !== undefined) certificates.add(one);
    yield;
  }

  *#certificateFor(name: string, owner: RouteOrigin | undefined): Steps<NameCertificate> {
    const { holders = none, claims = none } = this.#names.get(name) ?? {};
    const { key, problems } = yield* nameCertificate({
      name,
      owner,
      holders,
      claims,
      secret: (one) => this.#secrets.get(one)?.checked ?? {},
      taken: name === anyHost && this.#default()?.checked.found ? this.#defaultKey : undefined,
    });
    return { key: key ?? (owner && this.#insteadOfForeign(name, owner)), problems };
  }

  #keepName(
    name: string,
    { isNamed, isOwned }: { readonly isNamed: boolean; readonly isOwned: boolean },
  ): void {
    if (!isNamed) this.#names.delete(name);
    if (isOwned) this.#owned.add(name);
    else this.#owned.delete(name);
    const above = wildcardOver(name);
    if (above === undefined) return;
    const siblings = this.#under.get(above) ?? new Set();
    if (isNamed || isOwned) this.#under.set(above, siblings.add(name));
    else if (siblings.delete(name) && siblings.size === 0) this.#under.delete(above);
  }

  /** Where the proxy would fall back to another namespace's certificate: the one that may be shown. */
  #insteadOfForeign(name: string, { namespace }: RouteOrigin): string | undefined {
    const keys = [wildcardOver(name) ?? "", anyHost].flatMap(
      (one) => this.#serverNames.get(one) ?? [],
    );
    const isOurs = (key: string) => {
      const named = this.#secrets.get(key);
      if (key === this.#defaultKey || named?.reference.namespace === namespace) return true;
      // A Gateway may have been allowed to show that of another namespace.
      return [...(named?.claims ?? none)].some(({ origin }) => origin.namespace === namespace);
    };
    const allowed = keys.find(isOurs) ?? noCertificate;
    return keys.length === 0 || keys[0] === allowed ? undefined : allowed;
  }

  #assertInStep(joined: readonly Claimant[], owners: HostOwners): void {
    const size = this.#names.size + this.#owned.size;
    const areClaimed = () =>
      joined.every((ingress) => {
        const { claims, aliases } = claimsOf(ingress);
        return [...claims, ...aliases].every((one) => this.#names.get(one.name)?.claims.has(one));
      });
    assertCostly(areClaimed, "Ingresses that joined claim their certificates", joined.length);
    assertCostly(() => this.#areClaimsInStep(), "claims have a name and a secret", size);
    assertCostly(() => this.#isTableExact(owners), "names show what they should", size);
  }

  #areClaimsInStep(): boolean {
    const ofNames = [...this.#names.values()].flatMap(({ claims }) => [...claims]);
    const ofSecrets = [...this.#secrets.values()].flatMap(({ claims }) => [...claims]);
    return (
      ofNames.length === ofSecrets.length &&
      ofNames.every((claim) => this.#secrets.get(claim.key)?.claims.has(claim)) &&
      [...this.#names.values()].every(({ holders, claims }) => holders.size + claims.size > 0) &&
      [...this.#secrets].every(([key, { claims }]) => key === this.#defaultKey || claims.size > 0)
    );
  }

  #isTableExact(owners: HostOwners): boolean {
    const names = new Set([...this.#names.keys(), ...this.#owned, ...this.#serverNames.keys()]);
    return [...names].every((name) => {
      const { key } = atOnce(this.#certificateFor(name, owners.ownerOf(name)));
      const shown = this.#secrets.get(key ?? "");
      return this.#serverNames.get(name) === key && shown?.shownFor.has(name) !== false;
    });
  }

  /** Whether the certificate is another than before, or shown no longer. */
  #showCertificate(key: string): boolean {
    const before = this.#certificates.get(key);
    const named = this.#secrets.get(key);
    const isShown = named !== undefined && named.shownFor.size > 0;
    const after = isShown ? named.checked.found?.certificate : undefined;
    if (after === undefined) this.#certificates.delete(key);
    else this.#certificates.set(key, after);
    return before !== after;
  }
}

const none: ReadonlySet<never> = new Set();

const noOwners: HostOwners = { ownerOf: () => undefined, changes: { hosts: none } };

function isWildcard(name: string): boolean {
  return name.startsWith("*.");
}
