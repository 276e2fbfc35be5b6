// The current users of password lists: requests the secrets that Ingresses name, and decides again
// when one of them or an Ingress has changed. `decide/routing/` has the rules.
import { ingressFilter } from "../decide/routing/ingress-class-filter.ts";
import type { IngressChanges } from "../decide/routing/our-ingresses.ts";
import {
  type UserChanges,
  UserLists,
  type UserTable,
  wantedPasswords,
} from "../decide/routing/user-lists.ts";
import type { Ingress } from "../kube/kinds/ingress.ts";
import type { IngressClass } from "../kube/kinds/ingress-class.ts";
import type { PasswordSecret } from "../kube/kinds/password-secret.ts";
import type { SecretSource } from "../sources/secret-source.ts";

export interface ShownUsersOptions {
  readonly asked: { ingresses(): readonly Ingress[]; classes(): readonly IngressClass[] };
  readonly className: string;
  /** Reads the secrets; without it no user may pass where a password is needed. */
  readonly passwords?: Pick<SecretSource<PasswordSecret>, "want" | "get"> | undefined;
}

export class ShownUsers {
  readonly #options: ShownUsersOptions;
  readonly #lists = new UserLists();

  constructor(options: ShownUsersOptions) {
    this.#options = options;
  }

  get table(): UserTable {
    return this.#lists.table;
  }

  /** Has the secrets read that Ingresses name now, before anything is decided. */
  wantSecrets(): void {
    const { passwords, asked, className } = this.#options;
    const ours = asked.ingresses().filter(ingressFilter(asked.classes(), className));
    passwords?.want(wantedPasswords(ours));
  }

  change(changes: IngressChanges): UserChanges {
    const { passwords } = this.#options;
    if (passwords === undefined) return noUsers;
    const changed = this.#lists.change(changes, (reference) => passwords.get(reference));
    if (changed.secrets) passwords.want(this.#lists.wanted);
    return changed;
  }
}

const noUsers: UserChanges = { users: new Set(), secrets: false };
