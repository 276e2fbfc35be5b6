// Which names an Ingress wants a certificate for, and which names it has. Pure; found once for each
// version of an Ingress, because all of them are looked at whenever one changes.
import type { Ingress, IngressTls } from "../../kube/kinds/ingress.ts";
import { objectKey } from "../../kube/kinds/kind.ts";
import type { SecretReference } from "../../sources/secret-source.ts";
import { hostOf } from "./host-name.ts";
import { readAnnotations } from "./ingress/annotations.ts";
import type { RouteOrigin } from "./route.ts";

/** One name that one Ingress wants one secret's certificate for. */
export interface CertificateClaim {
  readonly name: string;
  readonly origin: RouteOrigin;
  readonly reference: SecretReference;
  /** `namespace/name` of the secret. */
  readonly key: string;
  /** The field that says so. */
  readonly where: string;
  /** The name is only another name of the Ingress, and yields to everybody's own. */
  readonly isAlias: boolean;
}

export interface IngressClaims {
  readonly origin: RouteOrigin;
  /** Every name it has in a rule or for TLS. */
  readonly names: readonly string[];
  readonly claims: readonly CertificateClaim[];
  readonly aliases: readonly CertificateClaim[];
}

const known = new WeakMap<Ingress, IngressClaims>();

export function claimsOf(ingress: Ingress): IngressClaims {
  const found = known.get(ingress) ?? readClaims(ingress);
  known.set(ingress, found);
  return found;
}

function readClaims(ingress: Ingress): IngressClaims {
  const { namespace, name, creationTimestamp } = ingress.metadata;
  const createdAtMs = creationTimestamp ?? Number.POSITIVE_INFINITY;
  const origin: RouteOrigin = { kind: "Ingress", namespace, name, createdAtMs };
  const ruleNames = hostsOf(ingress.rules.map(({ host }) => host));
  const tlsNames = hostsOf(ingress.tls.flatMap(({ hosts }) => hosts));
  const claims: CertificateClaim[] = [];
  const aliases: CertificateClaim[] = [];
  // What is wrong with the annotation is told where the routes are made.
  const otherNames = readAnnotations(ingress.annotations, () => undefined).aliases;
  for (const [index, entry] of ingress.tls.entries()) {
    if (!namesSecret(entry)) continue;
    const reference = { namespace, name: entry.secretName };
    const claim = { origin, reference, key: objectKey(reference), where: `spec.tls[${index}]` };
    // An entry without hosts is for those of the rules that no other entry names.
    const wanted =
      entry.hosts.length > 0
        ? hostsOf(entry.hosts)
        : ruleNames.filter((host) => !tlsNames.includes(host));
    for (const one of wanted) claims.push({ ...claim, name: one, isAlias: false });
    for (const one of otherNames) aliases.push({ ...claim, name: one, isAlias: true });
  }
  return { origin, names: [...new Set([...ruleNames, ...tlsNames])], claims, aliases };
}

/** A secret's name holds no slash: one of another namespace cannot be meant. */
function namesSecret({ secretName }: IngressTls): boolean {
  return secretName !== "" && !secretName.includes("/");
}

/** Each once; what is no host name is left out. */
function hostsOf(written: readonly string[]): readonly string[] {
  return [...new Set(written.map(hostOf).filter((host) => host !== undefined))];
}
