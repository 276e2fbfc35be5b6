// The taints a node has because of its conditions, and how they are put on it: NoSchedule follows
// the conditions at once, NoExecute empties the node and is put on rarely, at a zone's own rate.
import { toTime } from "../../../environment/clock.ts";
import { parseJson } from "../../../kube/client/client.ts";
import {
  isRecord,
  listAt,
  optionalNumber,
  optionalString,
  type RawRecord,
  recordAt,
} from "../../../kube/kinds/fields.ts";
import { objectPath } from "../../../kube/kinds/kind.ts";
import { objectRecord } from "../../../kube/kinds/metadata.ts";
import type { Taint } from "../../../kube/kinds/node.ts";
import type { ControllerOptions } from "../controller.ts";
import type { OwnedPod } from "../owned-pod.ts";
import { conditionsOf, type WholeNode, wholeNodeKind } from "./whole-node.ts";

export interface TaintKey {
  readonly key: string;
  readonly effect: "NoSchedule" | "NoExecute";
}

export const unreachable: TaintKey = {
  key: "node.kubernetes.io/unreachable",
  effect: "NoExecute",
};
export const notReady: TaintKey = { key: "node.kubernetes.io/not-ready", effect: "NoExecute" };

/** node_lifecycle_controller.go nodeConditionToTaintKeyStatusMap. */
const conditionTaints: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: notReady.key, Unknown: unreachable.key },
  MemoryPressure: { True: "node.kubernetes.io/memory-pressure" },
  DiskPressure: { True: "node.kubernetes.io/disk-pressure" },
  NetworkUnavailable: { True: "node.kubernetes.io/network-unavailable" },
  PIDPressure: { True: "node.kubernetes.io/pid-pressure" },
};

const unschedulableKey = "node.kubernetes.io/unschedulable";

/** Only these are the controller's to take away. */
const ownKeys = new Set([
  unschedulableKey,
  ...Object.values(conditionTaints).flatMap((byStatus) => Object.values(byStatus)),
]);

export function hasTaint(node: WholeNode, { key, effect }: TaintKey): boolean {
  return node.taints.some((one) => one.key === key && one.effect === effect);
}

/** The NoSchedule taints to add and to remove, so that they match the conditions. */
export function scheduleTaints(node: WholeNode): {
  readonly add: readonly TaintKey[];
  readonly remove: readonly TaintKey[];
} {
  const wanted = new Set<string>(node.unschedulable ? [unschedulableKey] : []);
  for (const { type, status } of conditionsOf(node)) {
    const key = conditionTaints[String(type)]?.[String(status)];
    if (key !== undefined) wanted.add(key);
  }
  const present = new Set(
    node.taints
      .filter(({ key, effect }) => effect === "NoSchedule" && ownKeys.has(key))
      .map(({ key }) => key),
  );
  const taint = (key: string): TaintKey => ({ key, effect: "NoSchedule" });
  return {
    add: [...wanted].filter((key) => !present.has(key)).map(taint),
    remove: [...present].filter((key) => !wanted.has(key)).map(taint),
  };
}

/**
 * SwapNodeControllerTaint: adds, then removes, each by a read of the node as a cache has it and a
 * patch. A taint that the node is known not to have is not removed.
 */
export async function changeTaints(
  options: Pick<ControllerOptions, "client" | "clock">,
  node: WholeNode,
  { add, remove }: { readonly add: readonly TaintKey[]; readonly remove: readonly TaintKey[] },
  signal: AbortSignal,
): Promise<void> {
  const timeAdded = toTime(options.clock.wallMs());
  if (add.length > 0) {
    await patchTaints(options, node, signal, (taints) => {
      const added = add.filter((one) => !taints.some((taint) => isTaint(taint, one)));
      return [...taints, ...added.map((taint) => ({ ...taint, timeAdded }))];
    });
  }
  if (remove.some((one) => hasTaint(node, one))) {
    await patchTaints(options, node, signal, (taints) =>
      taints.filter((taint) => !remove.some((one) => isTaint(taint, one))),
    );
  }
}

/** `change` gives a list of another length, or nothing is to be done. */
async function patchTaints(
  { client }: Pick<ControllerOptions, "client">,
  { metadata }: WholeNode,
  signal: AbortSignal,
  change: (taints: readonly RawRecord[]) => readonly RawRecord[],
): Promise<void> {
  const path = objectPath(wholeNodeKind, metadata);
  const read = { verb: "get", method: "GET", path: `${path}?resourceVersion=0`, signal } as const;
  const spec = recordAt(objectRecord(parseJson(await client.request(read))), "spec");
  const before = listAt(spec, "taints").filter(isRecord);
  const taints = change(before);
  if (taints.length === before.length) return;
  await client.request({
    verb: "patch",
    method: "PATCH",
    path,
    contentType: "application/strategic-merge-patch+json",
    body: { spec: { taints } },
    signal,
  });
}

function isTaint(taint: RawRecord, { key, effect }: TaintKey): boolean {
  return taint["key"] === key && taint["effect"] === effect;
}

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
