// The rules of each subject, computed from all roles and bindings at once and read for every
// request. It is a pure function of the objects, so it is never half up to date.
import { serviceAccountName, type User } from "../http/authentication.ts";
import { type JsonObject, objectAt, objectsAt, textAt } from "../kinds/fields.ts";
import type { KubeObject } from "../kube-object.ts";
import { type PolicyRule, readRule } from "./policy-rule.ts";

export interface RoleObjects {
  readonly roles: Iterable<KubeObject>;
  readonly clusterRoles: Iterable<KubeObject>;
  readonly roleBindings: Iterable<KubeObject>;
  readonly clusterRoleBindings: Iterable<KubeObject>;
}

/** The rules that one binding grants to one of its subjects. */
export interface Grant {
  readonly rules: readonly PolicyRule[];
  /** `ClusterRoleBinding "a" of ClusterRole "b" to User "c"`. */
  readonly source: string;
  /** Set when there is no such role. */
  readonly problem: string | undefined;
}

export interface RoleRef {
  readonly kind: string;
  readonly name: string;
}

/**
 * Grants by subject. A binding is in the list of a subject once, for the first time it names it.
 */
type Grants = ReadonlyMap<string, readonly Grant[]>;

export class RoleIndex {
  readonly #roles: ReadonlyMap<string, readonly PolicyRule[]>;
  readonly #clusterWide: Grants;
  readonly #byNamespace = new Map<string, Map<string, Grant[]>>();

  constructor(objects: RoleObjects) {
    this.#roles = rulesByRole(objects);
    const clusterWide = new Map<string, Grant[]>();
    for (const binding of objects.clusterRoleBindings) this.#add(clusterWide, binding);
    this.#clusterWide = clusterWide;
    for (const binding of objects.roleBindings) {
      const namespace = binding.metadata.namespace ?? "";
      const grants = this.#byNamespace.get(namespace) ?? new Map<string, Grant[]>();
      this.#byNamespace.set(namespace, grants);
      this.#add(grants, binding);
    }
  }

  /** The rules of a user in a namespace; "" is the cluster scope. */
  *grants(user: User, namespace: string): Generator<Grant, void, undefined> {
    yield* grantsOf(this.#clusterWide, user);
    if (namespace === "") return;
    const local = this.#byNamespace.get(namespace);
    if (local !== undefined) yield* grantsOf(local, user);
  }

  /** Undefined when there is no such role. */
  rulesOf({ kind, name }: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    return this.#roles.get(roleKey(kind === "Role" ? namespace : "", name));
  }

  #add(grants: Map<string, Grant[]>, binding: KubeObject): void {
    const namespace = binding.metadata.namespace ?? "";
    const roleRef = readRoleRef(binding);
    const rules = this.rulesOf(roleRef, namespace);
    const problem = rules === undefined ? missingRole(roleRef) : undefined;
    const seen = new Set<string>();
    for (const subject of objectsAt(binding, "subjects")) {
      const key = subjectKey(subject, namespace);
      if (key === undefined || seen.has(key)) continue;
      seen.add(key);
      const source = describe(binding, roleRef, subject);
      const grant: Grant = { rules: rules ?? [], source, problem };
      const known = grants.get(key);
      if (known === undefined) grants.set(key, [grant]);
      else known.push(grant);
    }
  }
}

export function readRoleRef(binding: KubeObject): RoleRef {
  const roleRef = objectAt(binding, "roleRef");
  return { kind: textAt(roleRef, "kind"), name: textAt(roleRef, "name") };
}

export function readRules(role: KubeObject): readonly PolicyRule[] {
  return objectsAt(role, "rules").map(readRule);
}

function missingRole({ kind, name }: RoleRef): string {
  return `${kind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(name)} not found`;
}

function* grantsOf(grants: Grants, { name, groups }: User): Generator<Grant, void, undefined> {
  yield* grants.get(`user ${name}`) ?? [];
  for (const group of groups) yield* grants.get(`group ${group}`) ?? [];
}

function rulesByRole({
  roles,
  clusterRoles,
}: RoleObjects): ReadonlyMap<string, readonly PolicyRule[]> {
  const rules = new Map<string, readonly PolicyRule[]>();
  for (const role of [...roles, ...clusterRoles]) {
    const { namespace = "", name } = role.metadata;
    rules.set(roleKey(namespace, name), readRules(role));
  }
  return rules;
}

/** A role in no namespace is a ClusterRole. */
function roleKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** Undefined for a subject that matches no user. */
function subjectKey(subject: JsonObject, bindingNamespace: string): string | undefined {
  const name = textAt(subject, "name");
  switch (textAt(subject, "kind")) {
    case "User":
      return `user ${name}`;
    case "Group":
      return `group ${name}`;
    case "ServiceAccount": {
      const namespace = textAt(subject, "namespace") || bindingNamespace;
      return namespace === "" ? undefined : `user ${serviceAccountName(namespace, name)}`;
    }
    default:
      return undefined;
  }
}

function describe(binding: KubeObject, roleRef: RoleRef, subject: JsonObject): string {
  const { name, namespace } = binding.metadata;
  const own = namespace === undefined ? name : `${name}/${namespace}`;
  const kind = textAt(subject, "kind");
  const who =
    kind === "ServiceAccount"
      ? `${textAt(subject, "name")}/${textAt(subject, "namespace") || (namespace ?? "")}`
      : textAt(subject, "name");
  return (
    `${binding.kind} ${JSON.stringify(own)} of ${roleRef.kind} ${JSON.stringify(roleRef.name)} ` +
    `to ${kind} ${JSON.stringify(who)}`
  );
}
