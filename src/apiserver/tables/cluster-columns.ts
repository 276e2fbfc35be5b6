// What a Table shows of the cluster itself: nodes, namespaces, leases, events, accounts, settings,
// budgets and who may do what.
import {
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  textMapAt,
  valueAt,
} from "../kinds/fields.ts";
import {
  ageColumn,
  ageOf,
  type KindColumns,
  nameColumn,
  nameOf,
  none,
  numberColumn,
  textColumn,
  wideColumn,
} from "./columns.ts";

export const namespaceColumns: KindColumns = {
  columns: [nameColumn, textColumn("Status", "Active, or on its way out."), ageColumn],
  cells: (namespace, now) => [
    nameOf(namespace),
    textAt(namespace, "status", "phase"),
    ageOf(namespace, now),
  ],
};

export const nodeColumns: KindColumns = {
  columns: [
    nameColumn,
    textColumn("Status", "Whether it is ready and takes new pods."),
    textColumn("Roles", "The roles its labels give it."),
    ageColumn,
    textColumn("Version", "The version of its kubelet."),
    wideColumn("Internal-IP", "Its first address inside the cluster."),
    wideColumn("External-IP", "Its first address outside the cluster."),
    wideColumn("OS-Image", "Its operating system."),
    wideColumn("Kernel-Version", "Its kernel and architecture."),
    wideColumn("Container-Runtime", "What runs its containers."),
  ],
  cells(node, now) {
    const info = objectAt(node, "status", "nodeInfo");
    const architecture = textAt(info, "architecture");
    return [
      nameOf(node),
      nodeStatus(node),
      rolesOf(node).join(",") || none,
      ageOf(node, now),
      textAt(info, "kubeletVersion"),
      addressOf(node, "InternalIP"),
      addressOf(node, "ExternalIP"),
      textAt(info, "osImage") || "<unknown>",
      (textAt(info, "kernelVersion") || "<unknown>") + (architecture && ` (${architecture})`),
      textAt(info, "containerRuntimeVersion") || "<unknown>",
    ];
  },
};

export const leaseColumns: KindColumns = {
  columns: [nameColumn, textColumn("Holder", "Who holds the lease."), ageColumn],
  cells: (lease, now) => [
    nameOf(lease),
    textAt(lease, "spec", "holderIdentity"),
    ageOf(lease, now),
  ],
};

export const serviceAccountColumns: KindColumns = {
  columns: [nameColumn, ageColumn],
  cells: (account, now) => [nameOf(account), ageOf(account, now)],
};

export const configMapColumns: KindColumns = {
  columns: [nameColumn, textColumn("Data", "How many entries it has."), ageColumn],
  cells: (map, now) => [
    nameOf(map),
    entriesOf(map, "data") + entriesOf(map, "binaryData"),
    ageOf(map, now),
  ],
};

export const secretColumns: KindColumns = {
  columns: [
    nameColumn,
    textColumn("Type", "What it is used for."),
    textColumn("Data", "How many entries it has."),
    ageColumn,
  ],
  cells: (secret, now) => [
    nameOf(secret),
    textAt(secret, "type"),
    entriesOf(secret, "data"),
    ageOf(secret, now),
  ],
};

export const roleBindingColumns: KindColumns = {
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

export const disruptionBudgetColumns: KindColumns = {
  columns: [
    nameColumn,
    textColumn("Min Available", "How many pods must stay available."),
    textColumn("Max Unavailable", "How many pods may be unavailable."),
    numberColumn("Allowed Disruptions", "How many pods may be evicted now."),
    ageColumn,
  ],
  cells: (budget, now) => [
    nameOf(budget),
    bound(budget, "minAvailable"),
    bound(budget, "maxUnavailable"),
    numberAt(budget, "status", "disruptionsAllowed") ?? 0,
    ageOf(budget, now),
  ],
};

function nodeStatus(node: JsonObject): string {
  const ready = objectsAt(node, "status", "conditions").findLast((one) => one["type"] === "Ready");
  const status =
    ready === undefined ? "Unknown" : textAt(ready, "status") === "True" ? "Ready" : "NotReady";
  const isCordoned = valueAt(node, "spec", "unschedulable") === true;
  return isCordoned ? `${status},SchedulingDisabled` : status;
}

const rolePrefix = "node-role.kubernetes.io/";

function rolesOf(node: JsonObject): readonly string[] {
  const roles = Object.entries(textMapAt(node, "metadata", "labels")).map(([key, value]) => {
    if (key.startsWith(rolePrefix)) return key.slice(rolePrefix.length);
    return key === "kubernetes.io/role" ? value : "";
  });
  return [...new Set(roles.filter((role) => role !== ""))].sort();
}

function addressOf(node: JsonObject, type: string): string {
  const addresses = objectsAt(node, "status", "addresses");
  const found = addresses.find((address) => address["type"] === type);
  return found === undefined ? none : textAt(found, "address");
}

function entriesOf(object: JsonObject, field: string): number {
  return Object.keys(objectAt(object, field) ?? {}).length;
}

/** A number or a percentage. */
function bound(budget: JsonObject, field: string): string {
  const number = numberAt(budget, "spec", field);
  return number === undefined ? textAt(budget, "spec", field) || "N/A" : String(number);
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
