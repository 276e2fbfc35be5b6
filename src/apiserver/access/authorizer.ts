// What a user may do. In the mode RBAC the answer comes from an index of all roles and bindings that
// this server's watch caches hold; it is made anew when one of them has changed and somebody asks.
import { mastersGroup, type User } from "../http/authentication.ts";
import {
  clusterRoleBindingKind,
  clusterRoleKind,
  roleBindingKind,
  roleKind,
} from "../kinds/rbac.ts";
import type { ResourceStore } from "../listwatch/resource-store.ts";
import type { Backend } from "../verbs/backend.ts";
import type { Access } from "./attributes.ts";
import { type PolicyRule, ruleAllows } from "./policy-rule.ts";
import { RoleIndex, type RoleRef } from "./role-index.ts";

export type AuthorizationMode = "RBAC" | "AlwaysAllow";

export interface Decision {
  readonly allowed: boolean;
  /** Why; "" when there is nothing to say. */
  readonly reason: string;
}

export interface UserRules {
  readonly rules: readonly PolicyRule[];
  /** What could not be found out, in words; "" when all is known. */
  readonly problem: string;
}

const always: Decision = { allowed: true, reason: "" };

const everything: readonly PolicyRule[] = [
  rule({ apiGroups: ["*"], resources: ["*"] }),
  rule({ nonResourceURLs: ["*"] }),
];

export class Authorizer {
  readonly mode: AuthorizationMode;
  readonly #backend: Pick<Backend, "store">;
  readonly #stops: (() => void)[] = [];
  #index: RoleIndex | undefined;

  constructor(options: {
    readonly mode: AuthorizationMode;
    readonly backend: Pick<Backend, "store">;
  }) {
    this.mode = options.mode;
    this.#backend = options.backend;
  }

  /** Resolves when the caches it reads are complete. */
  async start(): Promise<void> {
    if (this.mode !== "RBAC") return;
    const stores = [roleKind, clusterRoleKind, roleBindingKind, clusterRoleBindingKind].map(
      (kind) => this.#backend.store(kind),
    );
    for (const store of stores) {
      this.#stops.push(store.onChange(() => (this.#index = undefined)));
      await store.waitUntilReady();
    }
  }

  /** Idempotent. */
  stop(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  decide({ user, attributes }: Access): Decision {
    if (this.mode === "AlwaysAllow" || user.groups.includes(mastersGroup)) return always;
    const namespace = attributes.type === "resource" ? attributes.namespace : "";
    const problems = new Set<string>();
    for (const { rules, source, problem } of this.#roles().grants(user, namespace)) {
      if (problem !== undefined) problems.add(problem);
      if (rules.some((one) => ruleAllows(one, attributes))) {
        return { allowed: true, reason: `RBAC: allowed by ${source}` };
      }
    }
    const reason = problems.size === 0 ? "" : `RBAC: ${aggregated([...problems])}`;
    return { allowed: false, reason };
  }

  /** All that roles give a user in a namespace. */
  rulesFor(user: User, namespace: string): UserRules {
    if (this.mode === "AlwaysAllow") return { rules: everything, problem: "" };
    const rules: PolicyRule[] = [];
    const problems = new Set<string>();
    for (const grant of this.#roles().grants(user, namespace)) {
      rules.push(...grant.rules);
      if (grant.problem !== undefined) problems.add(grant.problem);
    }
    return { rules, problem: problems.size === 0 ? "" : aggregated([...problems]) };
  }

  /** Undefined when there is no such role. */
  roleRules(roleRef: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    return this.#roles().rulesOf(roleRef, namespace);
  }

  #roles(): RoleIndex {
    this.#index ??= new RoleIndex({
      roles: this.#store(roleKind).cached(),
      clusterRoles: this.#store(clusterRoleKind).cached(),
      roleBindings: this.#store(roleBindingKind).cached(),
      clusterRoleBindings: this.#store(clusterRoleBindingKind).cached(),
    });
    return this.#index;
  }

  #store(kind: Parameters<Backend["store"]>[0]): ResourceStore {
    return this.#backend.store(kind);
  }
}

function rule(part: Partial<PolicyRule>): PolicyRule {
  const none = { apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };
  return { ...none, verbs: ["*"], ...part };
}

/** As Go prints several errors as one. */
function aggregated(problems: readonly string[]): string {
  return problems.length === 1 ? (problems[0] ?? "") : `[${problems.join(", ")}]`;
}
