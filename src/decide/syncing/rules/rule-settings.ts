// Which Ingresses of business clusters are delivered to the access cluster, under which class and
// hosts, and which TLS secrets may go with them. A secret that is not named here is never read.
import type { StringMap } from "../../../kube/kinds/intern.ts";

export interface RuleSettings {
  /** By the class in business clusters, that in the access cluster; "" is for an Ingress of none. */
  readonly classes: StringMap;
  /** The first that matches counts. Without any, all hosts stay as they are. */
  readonly hosts: readonly HostMapping[];
  /** Annotations whose names begin with one of these are copied. */
  readonly annotations: readonly string[];
  readonly tlsSecrets: readonly SecretConsent[];
}

/** Both are host names, or both are `*.` and a domain. */
export interface HostMapping {
  readonly from: string;
  readonly to: string;
}

export interface SecretConsent {
  readonly namespace: string;
  /** `*` for all TLS secrets of the namespace. */
  readonly name: string;
}

/** Those of the most common controller; without them paths and protections would be others. */
export const defaultAnnotations: readonly string[] = ["nginx.ingress.kubernetes.io/"];

/** Undefined when the host may not be delivered. */
export function mappedHost(hosts: readonly HostMapping[], host: string): string | undefined {
  if (hosts.length === 0) return host;
  for (const { from, to } of hosts) {
    if (from === host) return to;
    const suffix = from.slice(1);
    if (isWildcard(from) && host.length > suffix.length && host.endsWith(suffix)) {
      return host.slice(0, -suffix.length) + to.slice(1);
    }
  }
  return undefined;
}

export function isWildcard(host: string): boolean {
  return host.startsWith("*.");
}

export function isConsented(
  consents: readonly SecretConsent[],
  namespace: string,
  name: string,
): boolean {
  return consents.some(
    (one) => one.namespace === namespace && (one.name === "*" || one.name === name),
  );
}
