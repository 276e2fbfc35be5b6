// Nodes: the kubelet registers them with their first status and then keeps that up to date.
import type { KubeObject } from "../kube-object.ts";
import {
  ageColumn,
  ageOf,
  type KindColumns,
  nameColumn,
  nameOf,
  none,
  textColumn,
  wideColumn,
} from "../tables/columns.ts";
import type { FieldErrors } from "./field-errors.ts";
import {
  ensureObject,
  type JsonObject,
  objectAt,
  objectsAt,
  setDefaults,
  textAt,
  textMapAt,
  textsAt,
  valueAt,
} from "./fields.ts";
import { invalidCidrMessage, isCidr } from "./ip-rules.ts";
import { labelValue, qualifiedName } from "./names.ts";
import { taintEffects } from "./pod-spec.ts";
import { defineKind } from "./resource-kind.ts";

const nodeColumns: KindColumns = {
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

const rolePrefix = "node-role.kubernetes.io/";

export const nodeKind = defineKind({
  kind: "Node",
  resource: "nodes",
  shortNames: ["no"],
  namespaced: false,
  schema: "core.v1.Node",
  columns: nodeColumns,
  subresources: ["status"],
  prefix: "/registry/minions/",
  selectableFields: {
    "spec.unschedulable": (node) => String(valueAt(node, "spec", "unschedulable") === true),
  },
  setDefaults(node) {
    agreePodCidrs(ensureObject(node, "spec"));
    const status = objectAt(node, "status");
    const capacity = objectAt(status, "capacity");
    if (status !== undefined && capacity !== undefined) {
      setDefaults(status, { allocatable: capacity });
    }
  },
  prepareCreate(node) {
    ensureObject(node, "status");
  },
  validate(node, errors) {
    validateTaints(node, errors);
    validatePodCidrs(node, errors);
  },
  validateUpdate(node, current, errors) {
    const ranges = textsAt(current, "spec", "podCIDRs");
    if (ranges.length > 0 && ranges.join() !== textsAt(node, "spec", "podCIDRs").join()) {
      const detail = 'node updates may not change podCIDR except from "" to valid';
      errors.forbidden("spec.podCIDRs", detail);
    }
    const provider = textAt(current, "spec", "providerID");
    if (provider !== "" && provider !== textAt(node, "spec", "providerID")) {
      const detail = 'node updates may not change providerID except from "" to valid';
      errors.forbidden("spec.providerID", detail);
    }
  },
});

/** The first of the ranges also has a field of its own, which decides where they differ. */
function agreePodCidrs(spec: JsonObject): void {
  const first = textAt(spec, "podCIDR");
  const all = textsAt(spec, "podCIDRs");
  if (first === "" && all[0] !== undefined) {
    spec["podCIDR"] = all[0];
  } else if (first !== "" && all[0] !== first) {
    spec["podCIDRs"] = [first];
  }
}

/** The paths are the real server's, which looks for taints where they once were. */
function validateTaints(node: KubeObject, errors: FieldErrors): void {
  const seen = new Set<string>();
  for (const [index, taint] of objectsAt(node, "spec", "taints").entries()) {
    const path = `metadata.taints[${index}]`;
    const key = textAt(taint, "key");
    const value = textAt(taint, "value");
    const effect = textAt(taint, "effect");
    errors.invalidForEach(`${path}.key`, key, qualifiedName(key));
    errors.invalidForEach(`${path}.value`, value, labelValue(value));
    errors.oneOf(`${path}.effect`, effect, taintEffects);
    if (seen.has(`${key}:${effect}`)) {
      const shown = { Key: key, Value: value, Effect: effect, TimeAdded: null };
      errors.duplicate(path, shown, "taints must be unique by key and effect pair");
    }
    seen.add(`${key}:${effect}`);
  }
}

function validatePodCidrs(node: KubeObject, errors: FieldErrors): void {
  const ranges = textsAt(node, "spec", "podCIDRs");
  for (const [index, range] of ranges.entries()) {
    if (!isCidr(range)) {
      errors.invalid(`spec.podCIDRs[${index}]`, range, invalidCidrMessage);
    }
  }
  const families = new Set(ranges.map((range) => range.includes(":")));
  if (ranges.length > families.size) {
    const detail = "may specify no more than one CIDR for each IP family";
    errors.invalid("spec.podCIDRs", ranges, detail);
  }
}

function nodeStatus(node: JsonObject): string {
  const ready = objectsAt(node, "status", "conditions").findLast((one) => one["type"] === "Ready");
  const status =
    ready === undefined ? "Unknown" : textAt(ready, "status") === "True" ? "Ready" : "NotReady";
  const isCordoned = valueAt(node, "spec", "unschedulable") === true;
  return isCordoned ? `${status},SchedulingDisabled` : status;
}

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
