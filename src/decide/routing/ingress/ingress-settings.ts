// The settings in the annotations of an Ingress, read and checked: the policy of its routes, and
// the options for making them.
import type { UserListForm } from "../../../sources/checked-users.ts";
import type { RoutePolicy } from "../../route-policy.ts";
import type { Backend, CanaryTerms } from "../route.ts";

export interface IngressSettings {
  readonly policy: RoutePolicy;
  /** Paths are regular expressions. */
  readonly useRegex: boolean;
  /** To https, where the Ingress has TLS for the host; undefined for the ingress's own default. */
  readonly sslRedirect: boolean | undefined;
  /** To https in any case. */
  readonly forceSslRedirect: boolean;
  /**
   * Further host names with the routes of the Ingress's hosts, unless another Ingress has them as
   * hosts.
   */
  readonly aliases: readonly string[];
  /** Its hosts with `www.`, or without where they have it, send clients to the hosts. */
  readonly redirectsWww: boolean;
  /** The Ingress's paths are no rules but canaries of the rules of others. */
  readonly canary: CanaryTerms | undefined;
  /** Clients must prove who they are by a password. */
  readonly basicAuth: BasicAuthentication | undefined;
  /** The service that is asked whether requests may pass. */
  readonly guard: Backend | undefined;
}

/** Where the users are. */
export interface BasicAuthentication {
  /** Of the secret, where the author gives it; no other than the Ingress's own is allowed. */
  readonly namespace: string | undefined;
  readonly name: string;
  readonly form: UserListForm;
  readonly realm: string;
}

export const plainSettings: IngressSettings = {
  policy: {},
  useRegex: false,
  sslRedirect: undefined,
  forceSslRedirect: false,
  aliases: [],
  redirectsWww: false,
  canary: undefined,
  basicAuth: undefined,
  guard: undefined,
};

/** The key of the list of users; undefined if the secret would be in another namespace. */
export function userListKey(
  own: string,
  { namespace = own, name, form }: BasicAuthentication,
): string | undefined {
  return namespace === own ? `${own}/${name} ${form}` : undefined;
}
