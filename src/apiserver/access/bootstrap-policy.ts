// The roles and bindings every cluster starts with: the permissions of its components and of its
// usual users. A server that starts creates those that are missing and leaves changed ones alone.
import { ApiError } from "../api-error.ts";
import type { JsonObject } from "../kinds/fields.ts";
import {
  clusterRoleBindingKind,
  clusterRoleKind,
  rbacGroup,
  roleBindingKind,
  roleKind,
} from "../kinds/rbac.ts";
import { groupVersion, type ResourceKind } from "../kinds/resource-kind.ts";
import type { Backend } from "../verbs/backend.ts";
import { createObject } from "../verbs/create.ts";
import { serverContext } from "../verbs/request-context.ts";
import table from "./bootstrap-roles.json" with { type: "json" };

export interface BootstrapRole {
  readonly name: string;
  /** A ClusterRole when absent. */
  readonly namespace?: string;
  /** The role that gathers this one's rules. */
  readonly aggregatesTo?: string;
  /** The label by which it aggregates the rules of other roles. */
  readonly gathers?: string;
  /** `verbs | groups | resources | names` or `verbs @ paths`; the core group is called core. */
  readonly rules: readonly string[];
}

export interface BootstrapBinding {
  readonly name: string;
  readonly namespace?: string;
  /** A ClusterRole, or a Role of the same namespace. */
  readonly role: string;
  /** `User a`, `Group b` or `ServiceAccount namespace/c`. */
  readonly subjects: readonly string[];
}

/** Made by scripts/generate-bootstrap-roles.mjs from a real server. */
const { roles, bindings }: BootstrapTable = table;

const aggregationLabel = (name: string): string => `${rbacGroup}/aggregate-to-${name}`;

interface BootstrapTable {
  readonly roles: readonly BootstrapRole[];
  readonly bindings: readonly BootstrapBinding[];
}

/** Another server on the same storage may be doing the same. */
export async function ensureBootstrapPolicy(backend: Backend): Promise<void> {
  for (const role of roles) {
    const kind = role.namespace === undefined ? clusterRoleKind : roleKind;
    await ensure(backend, kind, role, roleFields(role));
  }
  for (const binding of bindings) {
    const kind = binding.namespace === undefined ? clusterRoleBindingKind : roleBindingKind;
    await ensure(backend, kind, binding, bindingFields(binding));
  }
}

/** As an object a client would send. */
export function bindingObject(binding: BootstrapBinding): JsonObject {
  const { name, namespace } = binding;
  const kind = namespace === undefined ? clusterRoleBindingKind : roleBindingKind;
  return {
    apiVersion: groupVersion(kind),
    kind: kind.kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    ...bindingFields(binding),
  };
}

async function ensure(
  backend: Backend,
  kind: ResourceKind,
  { name, namespace, aggregatesTo }: BootstrapRole | (BootstrapBinding & { aggregatesTo?: never }),
  fields: JsonObject,
): Promise<void> {
  const labels = {
    "kubernetes.io/bootstrapping": "rbac-defaults",
    ...(aggregatesTo === undefined ? {} : { [aggregationLabel(aggregatesTo)]: "true" }),
  };
  const annotations = { "rbac.authorization.kubernetes.io/autoupdate": "true" };
  const metadata = { name, labels, annotations };
  const object = { apiVersion: groupVersion(kind), kind: kind.kind, metadata, ...fields };
  try {
    await createObject(backend, serverContext, { kind, namespace, object });
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") throw error;
  }
}

function roleFields({ rules, gathers }: BootstrapRole): JsonObject {
  if (gathers === undefined) return { rules: rules.map(ruleFields) };
  const matchLabels = { [aggregationLabel(gathers)]: "true" };
  return { aggregationRule: { clusterRoleSelectors: [{ matchLabels }] } };
}

function ruleFields(rule: string): JsonObject {
  const [verbs = "", urls] = rule.split(" @ ");
  if (urls !== undefined) return { verbs: words(verbs), nonResourceURLs: words(urls) };
  const [allowed = "", groups = "", resources = "", names] = rule.split(" | ");
  return {
    verbs: words(allowed),
    apiGroups: words(groups).map((group) => (group === "core" ? "" : group)),
    resources: words(resources),
    ...(names === undefined ? {} : { resourceNames: words(names) }),
  };
}

function bindingFields({ namespace, role, subjects }: BootstrapBinding): JsonObject {
  const kind = namespace === undefined ? "ClusterRole" : "Role";
  return {
    roleRef: { apiGroup: rbacGroup, kind, name: role },
    subjects: subjects.map(subjectFields),
  };
}

function subjectFields(subject: string): JsonObject {
  const [kind = "", who = ""] = subject.split(" ");
  if (kind !== "ServiceAccount") return { kind, apiGroup: rbacGroup, name: who };
  const [namespace = "", name = ""] = who.split("/");
  return { kind, name, namespace };
}

function words(list: string): readonly string[] {
  return list.split(",");
}
