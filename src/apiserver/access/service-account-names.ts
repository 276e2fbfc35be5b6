// What a ServiceAccount is called as a user, and which groups it is in.

const prefix = "system:serviceaccount:";

export const allServiceAccountsGroup = "system:serviceaccounts";

export function serviceAccountName(namespace: string, name: string): string {
  return `${prefix}${namespace}:${name}`;
}

export function serviceAccountGroups(namespace: string): readonly string[] {
  return [allServiceAccountsGroup, `${allServiceAccountsGroup}:${namespace}`];
}

/** Undefined when the user is no ServiceAccount. */
export function serviceAccountOf(
  user: string,
): { readonly namespace: string; readonly name: string } | undefined {
  if (!user.startsWith(prefix)) return undefined;
  const [namespace = "", name = "", ...more] = user.slice(prefix.length).split(":");
  return namespace === "" || name === "" || more.length > 0 ? undefined : { namespace, name };
}
