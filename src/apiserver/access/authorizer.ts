// Authorization. In the mode RBAC a decision comes from an index of all roles and bindings in this
// server's watch caches. The index is rebuilt at the first request after one of them has changed.

import { ApiError } from "../api-error.ts";
import { mastersGroup, type User } from "../http/authentication.ts";
import {
  clusterRoleBindingKind,
  clusterRoleKind,
  roleBindingKind,
  roleKind,
} from "../kinds/rbac.ts";
import { qualifiedResource } from "../kinds/resource-kind.ts";
import type { ResourceStore } from "../listwatch/resource-store.ts";
import type { Backend } from "../verbs/backend.ts";
import type { Access, Attributes } from "./attributes.ts";
import { type PolicyRule, ruleAllows } from "./policy-rule.ts";
import { RoleIndex, type RoleRef } from "./role-index.ts";

export type AuthorizationMode = "RBAC" | "AlwaysAllow";

export interface Decision {
  readonly allowed: boolean;
  /** The reason; "" for none. */
  readonly reason: string;
}

interface UserRules {
  readonly rules: readonly PolicyRule[];
  /** The error of an incomplete answer; "" when it is complete. */
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

  /** All rules of a user in a namespace. */
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

/** The refusal of a request that its user may not make, in the words of the real server. */
export function forbidden({ user, attributes }: Access, reason: string): ApiError {
  const sentence = escaped(sentenceOf(user.name, attributes));
  const why = reason === "" ? sentence : `${sentence}: ${reason}`;
  if (attributes.type === "path") return new ApiError(403, "Forbidden", `forbidden: ${why}`, {});
  return forbiddenObject(attributes, attributes.name, why);
}

/** `name` is "" for a collection and for an object that is being created. */
export function forbiddenObject(
  { group, resource }: { readonly group: string; readonly resource: string },
  name: string,
  why: string,
): ApiError {
  const subject = name === "" ? "" : ` ${JSON.stringify(name)}`;
  const message = `${qualifiedResource({ group, resource })}${subject} is forbidden: ${why}`;
  return new ApiError(403, "Forbidden", message, {
    ...(name === "" ? {} : { name }),
    ...(group === "" ? {} : { group }),
    kind: resource,
  });
}

function sentenceOf(user: string, attributes: Attributes): string {
  const who = `User ${JSON.stringify(user)} cannot ${attributes.verb}`;
  if (attributes.type === "path") return `${who} path ${JSON.stringify(attributes.path)}`;
  const { resource, subresource, group, namespace } = attributes;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where =
    namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`;
  return `${who} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}`;
}

/** Escaped, so that a name in a message cannot become markup of a page that shows it. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
