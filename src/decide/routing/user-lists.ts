// Which users may come in by which passwords, from the secrets that Ingresses name. A list that cannot
// be had is not there, and the proxy answers 503 where a route asks for one it does not have; so a
// route that is to be protected is never open. Pure.
// Invariant: `#claims` holds what the Ingresses ask that joined and did not leave.
import { assertCostly } from "../../environment/assert.ts";
import type { Ingress } from "../../kube/kinds/ingress.ts";
import type { PasswordSecret } from "../../kube/kinds/password-secret.ts";
import { type CheckedUsers, checkedUsers, type UserList } from "../../sources/checked-users.ts";
import type { KnownSecret, SecretReference, WantedSecrets } from "../../sources/secret-source.ts";
import { claimsOf, type PasswordClaim } from "./certificate-claims.ts";
import type { IngressChanges } from "./our-ingresses.ts";
import type { RouteOrigin, RoutingProblem } from "./route.ts";
import { shown } from "./shown-text.ts";
import { wantedBy } from "./wanted-secrets.ts";

/** Its map changes under the reader with every decision. */
export interface UserTable {
  /** By the key that policies have. */
  readonly users: ReadonlyMap<string, UserList>;
  readonly problems: readonly RoutingProblem[];
}

export interface UserChanges {
  /** Keys of lists that are others than before, or gone. */
  readonly users: ReadonlySet<string>;
  /** Other secrets are referred to than before. */
  readonly secrets: boolean;
}

export type ReadPasswords = (reference: SecretReference) => KnownSecret<PasswordSecret>;

const closing = "so every request is answered with 503";

/** In one message; a longer list does not help. */
const maxShownNames = 5;

/** Every secret that is referred to. */
export function wantedPasswords(ingresses: readonly Ingress[]): WantedSecrets {
  const claims = ingresses.flatMap((ingress) => claimsOf(ingress).passwords ?? []);
  return wantedBy(claims.map(({ secret, origin }) => ({ key: secret, origin })));
}

export class UserLists {
  readonly #claims = new Map<Ingress, PasswordClaim>();
  readonly #users = new Map<string, UserList>();
  /** Of each Ingress that has one; it stays the same object while it says the same. */
  #problems: ReadonlyMap<RouteOrigin, RoutingProblem> = new Map();

  get table(): UserTable {
    return { users: this.#users, problems: [...this.#problems.values()] };
  }

  /** Every secret that is referred to. */
  get wanted(): WantedSecrets {
    return wantedPasswords([...this.#claims.keys()]);
  }

  /** Decides again; there are few such secrets, and each version of one is read once. */
  change({ joined, left }: IngressChanges, read: ReadPasswords): UserChanges {
    const leavers = left.filter((ingress) => this.#claims.delete(ingress));
    const joiners = joined.filter((ingress) => claimsOf(ingress).passwords !== undefined);
    for (const ingress of joiners) {
      const { passwords } = claimsOf(ingress);
      if (passwords !== undefined) this.#claims.set(ingress, passwords);
    }
    const isClaimed = (ingress: Ingress) => this.#claims.has(ingress);
    const isExact = () => joiners.every(isClaimed) && !left.some(isClaimed);
    assertCostly(isExact, "lists of users are claimed by Ingresses that joined", joined.length);
    return { users: this.#read(read), secrets: leavers.length + joiners.length > 0 };
  }

  #read(read: ReadPasswords): ReadonlySet<string> {
    const before = new Map(this.#users);
    const problems = new Map<RouteOrigin, RoutingProblem>();
    this.#users.clear();
    for (const claim of this.#claims.values()) {
      const checked = checkedList(claim, read(claim.reference));
      if (typeof checked === "object") this.#users.set(claim.key, checked.users);
      const problem = problemOf(claim, checked);
      if (problem === undefined) continue;
      const known = this.#problems.get(problem.origin);
      problems.set(problem.origin, known?.message === problem.message ? known : problem);
    }
    this.#problems = problems;
    const keys = new Set([...before.keys(), ...this.#users.keys()]);
    return new Set([...keys].filter((key) => before.get(key) !== this.#users.get(key)));
  }
}

/** The list, its problem, or nothing while neither is known. */
function checkedList(
  { secret, form }: PasswordClaim,
  known: KnownSecret<PasswordSecret>,
): CheckedUsers | string | undefined {
  switch (known.kind) {
    case "unread":
      return undefined;
    case "absent":
      return `secret ${secret} does not exist`;
    case "refused":
      return `no permission to read secret ${secret}: ${known.detail}`;
    case "present": {
      const found = checkedUsers(known.secret, form);
      return typeof found === "string" ? `the secret ${secret} ${found}` : found;
    }
  }
}

function problemOf(
  { origin, secret }: PasswordClaim,
  checked: CheckedUsers | string | undefined,
): RoutingProblem | undefined {
  if (checked === undefined) return undefined;
  const where = "annotation auth-secret";
  if (typeof checked === "string") {
    return { origin, reason: "RouteClosed", message: `${where}: ${checked}, ${closing}` };
  }
  const { leftOut } = checked;
  if (leftOut.length === 0) return undefined;
  const more = leftOut.length > maxShownNames ? `, and ${leftOut.length - maxShownNames} more` : "";
  const names = `${leftOut.slice(0, maxShownNames).map(shown).join(", ")}${more}`;
  const what = `secret ${secret} has password hashes that are not supported or too slow`;
  return {
    origin,
    reason: "UserIgnored",
    message: `${where}: ${what}, so these users cannot sign in: ${names}`,
  };
}
