// Against escalation: a user who writes a role must hold all of its rules, and one who binds a role
// all rules of that role, unless explicitly allowed to `escalate` or `bind`.

import { sameJson } from "../../kube/kinds/same-json.ts";
import { mastersGroup, type User } from "../http/authentication.ts";
import { objectsAt } from "../kinds/fields.ts";
import { rbacGroup } from "../kinds/rbac.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import { notFound } from "../listwatch/refusals.ts";
import type { ResourceAttributes } from "./attributes.ts";
import { type Authorizer, forbiddenObject } from "./authorizer.ts";
import { describeRights, type PolicyRule, quotedList, uncovered } from "./policy-rule.ts";
import { readRoleRef, readRules } from "./role-index.ts";

export interface RoleWrite {
  readonly authorizer: Authorizer;
  readonly user: User;
  readonly kind: ResourceKind;
  /** As the path has it, "" for a cluster-wide kind; the name is "" when the path has none. */
  readonly namespace: string;
  readonly name: string;
  readonly object: KubeObject;
  /** Undefined when it is created. */
  readonly current: KubeObject | undefined;
}

const full: PolicyRule = {
  verbs: ["*"],
  apiGroups: ["*"],
  resources: ["*"],
  resourceNames: [],
  nonResourceURLs: [],
};

const fullAuthority: readonly PolicyRule[] = [
  full,
  { ...full, apiGroups: [], resources: [], nonResourceURLs: ["*"] },
];

/** Throws the 403. Only for the four kinds of the group. */
export function refuseEscalation(write: RoleWrite): void {
  const { kind, user, object, current } = write;
  if (write.authorizer.mode !== "RBAC" || user.groups.includes(mastersGroup)) return;
  if (current !== undefined && isOnlyForCollector(object, current)) return;
  if (kind.kind.endsWith("Binding")) refuseBinding(write);
  else refuseRole(write);
}

function refuseRole(write: RoleWrite): void {
  const { authorizer, user, kind, namespace, name, object, current } = write;
  const escalate = attributesOf("escalate", kind.resource, namespace, name);
  if (authorizer.decide({ user, attributes: escalate }).allowed) return;
  const missing = missingRights(write, readRules(object));
  if (missing !== undefined) throw forbiddenObject(kind, object.metadata.name, missing);
  const aggregates = [object, current].some((role) => role !== undefined && isAggregated(role));
  if (aggregates && missingRights(write, fullAuthority) !== undefined) {
    const why = "must have cluster-admin privileges to use the aggregationRule";
    throw forbiddenObject(kind, object.metadata.name, why);
  }
}

function refuseBinding(write: RoleWrite): void {
  const { authorizer, user, kind, namespace, object } = write;
  const roleRef = readRoleRef(object);
  const resource = roleRef.kind === "Role" ? "roles" : "clusterroles";
  const bind = attributesOf("bind", resource, namespace, roleRef.name);
  if (authorizer.decide({ user, attributes: bind }).allowed) return;
  const rules = authorizer.roleRules(roleRef, namespace);
  // The real server names the resource of the request here, not that of the role.
  if (rules === undefined) throw notFound(kind, roleRef.name);
  const missing = missingRights(write, rules);
  if (missing !== undefined) throw forbiddenObject(kind, object.metadata.name, missing);
}

/** The rights that the user would grant without holding them, as text; undefined for none. */
function missingRights(
  { authorizer, user, namespace }: RoleWrite,
  wanted: readonly PolicyRule[],
): string | undefined {
  const { rules, problem } = authorizer.rulesFor(user, namespace);
  const missing = uncovered(rules, wanted);
  if (missing.length === 0) return undefined;
  const list = describeRights(missing).join("\n");
  return (
    `user ${JSON.stringify(user.name)} (groups=${quotedList(user.groups)}) is attempting to grant ` +
    `RBAC permissions not currently held:\n${list}` +
    (problem === "" ? "" : `; resolution errors: [${problem}]`)
  );
}

function attributesOf(
  verb: string,
  resource: string,
  namespace: string,
  name: string,
): ResourceAttributes {
  const at = { group: rbacGroup, version: "*", subresource: "" };
  return { type: "resource", verb, ...at, resource, namespace, name };
}

function isAggregated(role: KubeObject): boolean {
  return objectsAt(role, "aggregationRule", "clusterRoleSelectors").length > 0;
}

/**
 * The garbage collector may not hold the rights of the roles it takes owners and finalizers from.
 */
function isOnlyForCollector(object: KubeObject, current: KubeObject): boolean {
  const rest = ({ metadata, ...fields }: KubeObject): object => {
    const { ownerReferences: _owners, finalizers: _finalizers, ...others } = metadata;
    const { resourceVersion: _version, managedFields: _managed, ...kept } = others;
    return { ...fields, metadata: kept };
  };
  return sameJson(rest(object), rest(current));
}
