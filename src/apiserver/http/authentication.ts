// The user of a request. An authenticated user is in the group system:authenticated. Any other is
// system:anonymous, if the server allows anonymous requests.
import type { TokenKey } from "../../components/service-account-tokens.ts";

export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  /** More facts from the authenticator, by key: the credential, the pod. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface Authentication {
  /** User by bearer token; their groups without system:authenticated. */
  readonly tokens: ReadonlyMap<string, User>;
  /** Signs the tokens of ServiceAccounts; without it there are none. */
  readonly tokenKey?: TokenKey;
  /** Of those tokens; `https://kubernetes.default.svc` unless given. */
  readonly issuer?: string;
}

/** Its members may do everything, without any role. */
export const mastersGroup = "system:masters";
export const authenticatedGroup = "system:authenticated";
export const unauthenticatedGroup = "system:unauthenticated";
export const anonymousName = "system:anonymous";

export const anonymous: User = { name: anonymousName, groups: [unauthenticatedGroup] };

/** The token of an Authorization header; undefined when it has none. */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  // A second space ends the token before it begins, as in the real server.
  const [scheme = "", token = ""] = authorization.trim().split(" ", 2);
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

/** As the real server adds it: once, at the end. */
export function asAuthenticated(user: User): User {
  const isMember = user.groups.some(
    (group) => group === authenticatedGroup || group === unauthenticatedGroup,
  );
  return isMember ? user : { ...user, groups: [...user.groups, authenticatedGroup] };
}

/** As in reviews and the audit log: without empty fields. */
export function userInfo({ name, uid, groups, extra }: User): object {
  return {
    username: name,
    ...(uid === undefined || uid === "" ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

/** User names of ServiceAccounts begin with it: `system:serviceaccount:default:builder`. */
const serviceAccountPrefix = "system:serviceaccount:";

export const allServiceAccountsGroup = "system:serviceaccounts";

export function serviceAccountName(namespace: string, name: string): string {
  return `${serviceAccountPrefix}${namespace}:${name}`;
}

export function serviceAccountGroups(namespace: string): readonly string[] {
  return [allServiceAccountsGroup, `${allServiceAccountsGroup}:${namespace}`];
}

/** Undefined when the user is no ServiceAccount. */
export function serviceAccountOf(
  user: string,
): { readonly namespace: string; readonly name: string } | undefined {
  if (!user.startsWith(serviceAccountPrefix)) return undefined;
  const [namespace = "", name = "", ...more] = user.slice(serviceAccountPrefix.length).split(":");
  return namespace === "" || name === "" || more.length > 0 ? undefined : { namespace, name };
}
