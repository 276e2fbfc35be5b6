// How long a pod may stay on a node with NoExecute taints: for as long as its tolerations say, for
// ever, or not at all. Pure.
import {
  isRecord,
  listAt,
  optionalNumber,
  optionalString,
  type RawRecord,
  recordAt,
} from "../../../kube/kinds/fields.ts";
import type { Taint } from "../../../kube/kinds/node.ts";
import type { OwnedPod } from "../owned-pod.ts";

/** Milliseconds; infinite when every taint is tolerated without a limit. */
export function toleratedMs({ raw }: OwnedPod, taints: readonly Taint[]): number {
  const tolerations = listAt(recordAt(raw, "spec"), "tolerations").filter(isRecord);
  const limits: number[] = [];
  for (const taint of taints) {
    const used = tolerations.find((toleration) => tolerates(toleration, taint));
    if (used === undefined) return 0;
    const seconds = optionalNumber(used, "tolerationSeconds");
    if (seconds !== undefined) limits.push(Math.max(0, seconds) * 1000);
  }
  return Math.min(...limits, Number.POSITIVE_INFINITY);
}

/** k8s.io/api core/v1 toleration.go ToleratesTaint. */
function tolerates(toleration: RawRecord, { key, value, effect }: Taint): boolean {
  const text = (field: string): string => optionalString(toleration, field) ?? "";
  if (text("effect") !== "" && text("effect") !== effect) return false;
  if (text("key") !== "" && text("key") !== key) return false;
  const operator = text("operator");
  return (
    operator === "Exists" || ((operator === "" || operator === "Equal") && text("value") === value)
  );
}
