// The conditions of a ServiceExport, as the Multi-Cluster Services API defines them: whether its
// Service can be exported, whether it is, and whether other clusters export it with other properties.
import type { RawRecord } from "../../kube/kinds/fields.ts";
import type { Service } from "../../kube/kinds/service.ts";
import { exportCondition, type ServiceExport } from "../../kube/kinds/service-export.ts";
import { isCopy } from "./copy-names.ts";
import { conflictSubject, type MergedExports } from "./merge-exports.ts";

/** Without a time: that of the last change of `status`. */
export interface WantedCondition {
  readonly type: "Valid" | "Ready" | "Conflict";
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

export interface ConditionsInput {
  /** The Service of the export's name in its cluster. */
  readonly service: Service | undefined;
  /** The cluster that imports it. */
  readonly target: string;
  /** Why it is not imported, in words; undefined when it is. */
  readonly blocked: string | undefined;
  /** Undefined while a cluster is not known that may export the service too. */
  readonly merged: MergedExports | undefined;
}

export function exportConditions(input: ConditionsInput): readonly WantedCondition[] {
  const valid = validity(input.service);
  if (valid.status === "False") {
    const { message } = valid;
    return [valid, { type: "Ready", status: "False", reason: "Failed", message }, noConflict];
  }
  const { merged } = input;
  const conflict = merged === undefined ? [] : [conflictOf(merged)];
  return [valid, readiness(input), ...conflict];
}

function validity(service: Service | undefined): WantedCondition {
  const invalid = (reason: string, message: string): WantedCondition => ({
    type: "Valid",
    status: "False",
    reason,
    message,
  });
  if (service === undefined) return invalid("NoService", "There is no Service of this name.");
  if (service.type === "ExternalName") {
    return invalid("InvalidServiceType", "A Service of type ExternalName cannot be exported.");
  }
  if (isCopy(service)) {
    return invalid("InvalidServiceType", "The Service is a copy from another cluster.");
  }
  const message = "The Service can be exported.";
  return { type: "Valid", status: "True", reason: "Valid", message };
}

function readiness({ target, blocked }: ConditionsInput): WantedCondition {
  return blocked === undefined
    ? {
        type: "Ready",
        status: "True",
        reason: "Exported",
        message: `The cluster ${target} has the service.`,
      }
    : { type: "Ready", status: "False", reason: "Failed", message: `${target}: ${blocked}` };
}

const noConflict: WantedCondition = {
  type: "Conflict",
  status: "False",
  reason: "NoConflicts",
  message: "All exports of the service have the same properties.",
};

function conflictOf({ conflicts, precedence }: MergedExports): WantedCondition {
  if (conflicts.length === 0) return noConflict;
  const subjects = conflicts.map(conflictSubject).join(", ");
  return {
    type: "Conflict",
    status: "True",
    reason: conflicts.join(","),
    message:
      `The exporting clusters differ in: ${subjects}. The values of ${precedence} apply, because ` +
      "its export is the oldest.",
  };
}

/**
 * The conditions to write, with those of other writers as they are; undefined when all are there. A
 * condition that is not wanted now stays.
 */
export function changedConditions(
  { conditions }: Pick<ServiceExport, "conditions">,
  wanted: readonly WantedCondition[],
  now: string,
): readonly RawRecord[] | undefined {
  const held = conditions.map((raw) => ({ raw, condition: exportCondition(raw) }));
  let isChanged = false;
  const next = wanted.map((one) => {
    const { type, status, reason, message } = one;
    const before = held.find(({ condition }) => condition.type === type);
    const known = before?.condition;
    if (known?.status === status && known.reason === reason && known.message === message) {
      return before?.raw ?? {};
    }
    isChanged = true;
    const lastTransitionTime = known?.status === status ? known.lastTransitionTime : now;
    return { type, status, reason, message, lastTransitionTime };
  });
  const names = new Set<string>(wanted.map(({ type }) => type));
  const others = held.filter(({ condition }) => !names.has(condition.type));
  return isChanged ? [...others.map(({ raw }) => raw), ...next] : undefined;
}
