// The four kinds of role-based access control: roles with their rules, and their bindings to
// subjects.
import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../kube-object.ts";
import {
  ageColumn,
  ageOf,
  type KindColumns,
  nameColumn,
  nameOf,
  textColumn,
  wideColumn,
} from "../tables/columns.ts";
import type { FieldErrors } from "./field-errors.ts";
import {
  isJsonObject,
  type JsonObject,
  objectAt,
  objectsAt,
  setDefaults,
  textAt,
  textsAt,
} from "./fields.ts";
import { dnsSubdomain, pathSegmentName } from "./names.ts";
import { defineKind } from "./resource-kind.ts";

const roleBindingColumns: KindColumns = {
  columns: [
    nameColumn,
    textColumn("Role", "The role it gives."),
    ageColumn,
    wideColumn("Users", "The users it gives it to."),
    wideColumn("Groups", "The groups it gives it to."),
    wideColumn("ServiceAccounts", "The service accounts it gives it to."),
  ],
  cells: (binding, now) => [
    nameOf(binding),
    `${textAt(binding, "roleRef", "kind")}/${textAt(binding, "roleRef", "name")}`,
    ageOf(binding, now),
    subjects(binding, "User", (subject) => textAt(subject, "name")),
    subjects(binding, "Group", (subject) => textAt(subject, "name")),
    subjects(
      binding,
      "ServiceAccount",
      (subject) => `${textAt(subject, "namespace")}/${textAt(subject, "name")}`,
    ),
  ],
};

export const rbacGroup = "rbac.authorization.k8s.io";

export const roleKind = defineKind({
  group: rbacGroup,
  kind: "Role",
  resource: "roles",
  namespaced: true,
  schema: "rbac.v1.Role",
  nameRule: pathSegmentName,
  validate: (role, errors) => validateRules(role, { namespaced: true }, errors),
});

export const clusterRoleKind = defineKind({
  group: rbacGroup,
  kind: "ClusterRole",
  resource: "clusterroles",
  namespaced: false,
  schema: "rbac.v1.ClusterRole",
  nameRule: pathSegmentName,
  validate(role, errors) {
    validateRules(role, { namespaced: false }, errors);
    const aggregation = objectAt(role, "aggregationRule");
    if (aggregation !== undefined && objectsAt(aggregation, "clusterRoleSelectors").length === 0) {
      errors.required(
        "aggregationRule.clusterRoleSelectors",
        "at least one clusterRoleSelector required if aggregationRule is non-nil",
      );
    }
  },
});

export const roleBindingKind = defineKind({
  group: rbacGroup,
  kind: "RoleBinding",
  resource: "rolebindings",
  namespaced: true,
  schema: "rbac.v1.RoleBinding",
  columns: roleBindingColumns,
  nameRule: pathSegmentName,
  setDefaults: setBindingDefaults,
  validate: (binding, errors) => validateBinding(binding, ["Role", "ClusterRole"], errors),
  validateUpdate: validateRoleRefKept,
});

export const clusterRoleBindingKind = defineKind({
  group: rbacGroup,
  kind: "ClusterRoleBinding",
  resource: "clusterrolebindings",
  namespaced: false,
  schema: "rbac.v1.ClusterRoleBinding",
  columns: roleBindingColumns,
  nameRule: pathSegmentName,
  setDefaults: setBindingDefaults,
  validate: (binding, errors) => validateBinding(binding, ["ClusterRole"], errors),
  validateUpdate: validateRoleRefKept,
});

function setBindingDefaults(binding: KubeObject): void {
  const roleRef = objectAt(binding, "roleRef");
  if (roleRef !== undefined) setDefaults(roleRef, { apiGroup: rbacGroup });
  for (const subject of objectsAt(binding, "subjects")) {
    const kind = textAt(subject, "kind");
    if (kind === "User" || kind === "Group") setDefaults(subject, { apiGroup: rbacGroup });
  }
}

function validateRules(
  role: KubeObject,
  { namespaced }: { readonly namespaced: boolean },
  errors: FieldErrors,
): void {
  for (const [index, rule] of objectsAt(role, "rules").entries()) {
    const at = `rules[${index}]`;
    if (textsAt(rule, "verbs").length === 0) {
      errors.required(`${at}.verbs`, "verbs must contain at least one value");
    }
    const urls = textsAt(rule, "nonResourceURLs");
    if (urls.length > 0) {
      validateUrlRule(rule, { field: `${at}.nonResourceURLs`, urls, namespaced }, errors);
      continue;
    }
    if (textsAt(rule, "apiGroups").length === 0) {
      errors.required(`${at}.apiGroups`, "resource rules must supply at least one api group");
    }
    if (textsAt(rule, "resources").length === 0) {
      errors.required(`${at}.resources`, "resource rules must supply at least one resource");
    }
  }
}

function validateUrlRule(
  rule: JsonObject,
  place: { readonly field: string; readonly urls: readonly string[]; readonly namespaced: boolean },
  errors: FieldErrors,
): void {
  const { field, urls, namespaced } = place;
  if (namespaced) {
    errors.invalid(field, urls, "namespaced rules cannot apply to non-resource URLs");
  }
  const resourceFields = ["apiGroups", "resources", "resourceNames"];
  if (resourceFields.some((name) => textsAt(rule, name).length > 0)) {
    errors.invalid(
      field,
      urls,
      "rules cannot apply to both regular resources and non-resource URLs",
    );
  }
}

function validateBinding(
  binding: KubeObject,
  roleKinds: readonly string[],
  errors: FieldErrors,
): void {
  const roleRef = objectAt(binding, "roleRef");
  const group = textAt(roleRef, "apiGroup");
  if (group !== rbacGroup) errors.notSupported("roleRef.apiGroup", group, [rbacGroup]);
  const kind = textAt(roleRef, "kind");
  if (!roleKinds.includes(kind)) errors.notSupported("roleRef.kind", kind, roleKinds);
  const name = textAt(roleRef, "name");
  if (name === "") errors.required("roleRef.name");
  else errors.invalidForEach("roleRef.name", name, pathSegmentName(name));
  const isNamespaced = binding.metadata.namespace !== undefined;
  for (const [index, subject] of objectsAt(binding, "subjects").entries()) {
    validateSubject(subject, `subjects[${index}]`, isNamespaced, errors);
  }
}

const subjectKinds = ["ServiceAccount", "User", "Group"];

function validateSubject(
  subject: JsonObject,
  at: string,
  isNamespaced: boolean,
  errors: FieldErrors,
): void {
  const name = textAt(subject, "name");
  if (name === "") errors.required(`${at}.name`);
  const kind = textAt(subject, "kind");
  const group = textAt(subject, "apiGroup");
  if (kind === "ServiceAccount") {
    if (name !== "") errors.invalidForEach(`${at}.name`, name, dnsSubdomain(name));
    if (group !== "") errors.notSupported(`${at}.apiGroup`, group, [""]);
    if (!isNamespaced && textAt(subject, "namespace") === "") errors.required(`${at}.namespace`);
  } else if (subjectKinds.includes(kind)) {
    if (group !== rbacGroup) errors.notSupported(`${at}.apiGroup`, group, [rbacGroup]);
  } else {
    errors.notSupported(`${at}.kind`, kind, subjectKinds);
  }
}

/** With another role, an update could grant any role to all subjects of the binding. */
function validateRoleRefKept(binding: KubeObject, current: KubeObject, errors: FieldErrors): void {
  if (isDeepStrictEqual(binding["roleRef"], current["roleRef"])) return;
  const roleRef = isJsonObject(binding["roleRef"]) ? binding["roleRef"] : {};
  // The real server prints its internal type, whose fields have no names in JSON.
  const printed = {
    APIGroup: textAt(roleRef, "apiGroup"),
    Kind: textAt(roleRef, "kind"),
    Name: textAt(roleRef, "name"),
  };
  errors.invalid("roleRef", printed, "cannot change roleRef");
}

function subjects(
  binding: JsonObject,
  kind: string,
  text: (subject: JsonObject) => string,
): string {
  return objectsAt(binding, "subjects")
    .filter((subject) => subject["kind"] === kind)
    .map(text)
    .join(", ");
}
