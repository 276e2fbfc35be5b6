// What the annotations of an Ingress ask for, read and checked: the policy of its routes, and what
// changes how its routes are made.
import type { RoutePolicy } from "../../route-policy.ts";
import type { CanaryTerms } from "../route.ts";

export interface IngressSettings {
  readonly policy: RoutePolicy;
  /** Paths are regular expressions. */
  readonly useRegex: boolean;
  /** To https, where the Ingress has TLS for the host; undefined for the ingress's own default. */
  readonly sslRedirect: boolean | undefined;
  /** To https in any case. */
  readonly forceSslRedirect: boolean;
  /** More host names that lead where the Ingress's own do, unless somebody has them as hosts. */
  readonly aliases: readonly string[];
  /** Its hosts with `www.`, or without where they have it, send clients to the hosts. */
  readonly redirectsWww: boolean;
  /** The Ingress's paths are no rules but canaries of the rules of others. */
  readonly canary: CanaryTerms | undefined;
}

export const plainSettings: IngressSettings = {
  policy: {},
  useRegex: false,
  sslRedirect: undefined,
  forceSslRedirect: false,
  aliases: [],
  redirectsWww: false,
  canary: undefined,
};
