// Rights of users, by the roles and bindings of RBAC in the evidence. A dump may have roles without
// bindings, or only some of them: then the answer is unknown, and not "no".
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import type { Place } from "./sign-log.ts";

/** As an error names it: `cannot list resource "endpointslices" in API group "discovery.k8s.io"`. */
export interface AccessRequest {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
}

export interface BoundRole {
  /** `ClusterRole ingress-nginx`, `Role shop/reader`. */
  readonly role: string;
  /** Undefined in all namespaces. */
  readonly namespace: string | undefined;
  readonly place: Place;
}

interface Rule {
  readonly groups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** It allows only objects with certain names, which a list does not have. */
  readonly isNamed: boolean;
}

interface Binding extends BoundRole {
  readonly subjects: readonly string[];
}

/** A cluster has some thousands. */
const rolesMax = 50_000;

/** Only a service account: `system:serviceaccount:shop:web`. */
const accountForm = /^system:serviceaccount:([^:]+):([^:]+)$/;

export class Grants {
  readonly #rules = new Map<string, readonly Rule[]>();
  readonly #bindings: Binding[] = [];

  addRole(role: string, rules: readonly unknown[]): void {
    if (this.#rules.size >= rolesMax) return;
    this.#rules.set(role, rules.filter(isRecord).map(ruleOf));
  }

  /** Of a RoleBinding, which has a namespace, or of a ClusterRoleBinding. */
  addBinding(object: RawRecord, namespace: string | undefined, place: Place): void {
    const { roleRef, subjects } = object;
    if (!isRecord(roleRef) || this.#bindings.length >= rolesMax) return;
    const isOfNamespace = roleRef["kind"] === "Role";
    const name = String(roleRef["name"]);
    const role = isOfNamespace ? `Role ${namespace ?? ""}/${name}` : `ClusterRole ${name}`;
    const users = (Array.isArray(subjects) ? subjects : []).filter(isRecord).map(subjectOf);
    this.#bindings.push({ role, namespace, place, subjects: users });
  }

  /** Roles that are bound to the user by its own name; groups of all users are left out. */
  rolesOf(user: string): readonly BoundRole[] {
    return this.#bindings.filter(({ subjects }) => subjects.includes(user));
  }

  /**
   * Whether a role allows it; undefined if a role is not in the evidence, or if no role of the user is known.
   * A role of one namespace allows nothing in others.
   */
  allows(user: string, request: AccessRequest): boolean | undefined {
    const names = [user, ...groupsOf(user)];
    const bound = this.#bindings.filter(({ subjects }) =>
      subjects.some((subject) => names.includes(subject)),
    );
    if (this.rolesOf(user).length === 0) return undefined;
    const answers = bound.map(({ role, namespace }) => {
      if (namespace !== undefined && namespace !== request.namespace) return false;
      return this.#rules.get(role)?.some((rule) => permits(rule, request));
    });
    if (answers.includes(true)) return true;
    return answers.includes(undefined) ? undefined : false;
  }
}

function ruleOf(rule: RawRecord): Rule {
  const texts = (field: string): readonly string[] => {
    const value = rule[field];
    return Array.isArray(value) ? value.map(String) : [];
  };
  return {
    groups: texts("apiGroups"),
    resources: texts("resources"),
    verbs: texts("verbs"),
    isNamed: texts("resourceNames").length > 0,
  };
}

function permits({ groups, resources, verbs, isNamed }: Rule, request: AccessRequest): boolean {
  const has = (list: readonly string[], wanted: string): boolean =>
    list.includes("*") || list.includes(wanted);
  const isFor = has(groups, request.group) && has(resources, request.resource);
  return isFor && has(verbs, request.verb) && !isNamed;
}

/** As a user name in errors of the API server. */
function subjectOf({ kind, name, namespace }: RawRecord): string {
  if (kind !== "ServiceAccount") return String(name);
  return `system:serviceaccount:${String(namespace)}:${String(name)}`;
}

function groupsOf(user: string): readonly string[] {
  const namespace = accountForm.exec(user)?.[1];
  if (namespace === undefined) return ["system:authenticated"];
  const ofNamespace = `system:serviceaccounts:${namespace}`;
  return ["system:serviceaccounts", ofNamespace, "system:authenticated"];
}
