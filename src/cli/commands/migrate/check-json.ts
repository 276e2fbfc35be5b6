// The report of `lockstep migrate check` as JSON; docs/migrate.md lists the fields.
import type { CheckedIngress, CheckReport, Verdict } from "../../../migrate/check.ts";
import { jsonLine } from "../../terminal/json-line.ts";

/** Raised when a field changes its meaning or goes away. */
const formatVersion = 1;

export function checkJson(report: CheckReport, notes: readonly string[]): string {
  const { ingresses, controller, others, notChecked } = report;
  const { names, configMap, settings, flags } = controller;
  return jsonLine({
    version: formatVersion,
    summary: {
      ingresses: ingresses.length,
      ...verdictCounts(ingresses),
      missing: missingCount(ingresses),
    },
    ingresses,
    controller: {
      workloads: names,
      configMap: configMap === undefined ? null : `${configMap.namespace}/${configMap.name}`,
      settings: settings.filter(({ isSet }) => isSet),
      flags,
    },
    defaults: settings.filter(({ isSet }) => !isSet),
    otherClasses: Object.fromEntries(others),
    notChecked,
    notes: [...controller.notes, ...notes],
  });
}

export function verdictCounts(
  ingresses: readonly CheckedIngress[],
): Readonly<Record<Verdict, number>> {
  const count = (wanted: Verdict) => ingresses.filter(({ verdict }) => verdict === wanted).length;
  return { same: count("same"), differs: count("differs"), refused: count("refused") };
}

/** Findings about objects that do not exist. */
export function missingCount(ingresses: readonly CheckedIngress[]): number {
  const all = ingresses.flatMap(({ findings }) => findings);
  return all.filter(({ kind, reason }) => kind === "note" && reason !== "PathTaken").length;
}
