// ClusterRoles that are the sum of others: those whose labels they select. Each change of any of them
// makes all sums be looked at again, as there are few.
import { isDeepStrictEqual } from "node:util";
import {
  isRecord,
  listAt,
  optionalString,
  type RawRecord,
  recordAt,
  stringMapAt,
} from "../../../kube/kinds/fields.ts";
import type { StringMap } from "../../../kube/kinds/intern.ts";
import { objectPath } from "../../../kube/kinds/kind.ts";
import { type ControllerOptions, controllerQueue, runController } from "../controller.ts";
import { revised, type WholeObject, wholeClusterRoles } from "../whole-object.ts";

/** cmd/kube-controller-manager/app/rbac.go. */
const workers = 5;

const requestDeadlineMs = 30_000;

/** Works until the signal aborts. */
export async function runRoleAggregation(
  options: ControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers } = options;
  const roles = informers.clusterRoles();
  const queue = controllerQueue(options, "ClusterRoleAggregator");
  roles.onChange(() => {
    for (const role of roles.store) {
      if (selectorsOf(role).length > 0) queue.add(role.metadata.name);
    }
  });
  const sync = async (name: string, stop: AbortSignal): Promise<void> => {
    const role = roles.store.get("", name);
    if (role === undefined || selectorsOf(role).length === 0) return;
    const rules = gatheredRules(role, [...roles.store]);
    if (isDeepStrictEqual(rules, listAt(role.raw, "rules"))) return;
    await client.request({
      verb: "update",
      method: "PUT",
      path: objectPath(wholeClusterRoles, role.metadata),
      body: revised(wholeClusterRoles, role, { fields: { rules } }),
      deadlineMs: requestDeadlineMs,
      signal: stop,
    });
  };
  const failure = {
    source: "clusterroleaggregation_controller.go:218",
    key: "role",
    retrying: "Unhandled Error",
    dropped: "Unhandled Error",
    verbosity: 0,
  };
  const name = "clusterrole-aggregation-controller";
  await runController(options, { queue, workers, sync, name, failure }, signal);
}

/** All rules of the selected roles, by the names of the roles, each once. */
export function gatheredRules(role: WholeObject, all: readonly WholeObject[]): readonly unknown[] {
  const byName = all.toSorted((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1));
  const rules: unknown[] = [];
  for (const selector of selectorsOf(role)) {
    for (const other of byName) {
      if (other.metadata.name === role.metadata.name) continue;
      if (!isSelected(other.metadata.labels, selector)) continue;
      for (const rule of listAt(other.raw, "rules")) {
        if (!rules.some((known) => isDeepStrictEqual(known, rule))) rules.push(rule);
      }
    }
  }
  return rules;
}

function selectorsOf({ raw }: WholeObject): readonly RawRecord[] {
  return listAt(recordAt(raw, "aggregationRule"), "clusterRoleSelectors").filter(isRecord);
}

function isSelected(labels: StringMap, selector: RawRecord): boolean {
  const equal = Object.entries(stringMapAt(selector, "matchLabels"));
  return (
    equal.every(([key, value]) => labels[key] === value) &&
    listAt(selector, "matchExpressions")
      .filter(isRecord)
      .every((one) => holds(labels, one))
  );
}

function holds(labels: StringMap, expression: RawRecord): boolean {
  const value = labels[optionalString(expression, "key") ?? ""];
  const isListed = value !== undefined && listAt(expression, "values").includes(value);
  switch (optionalString(expression, "operator")) {
    case "In":
      return isListed;
    case "NotIn":
      return !isListed;
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
}
