// Marks the pods of a lost node as not ready, by one write of each pod's status, one after another.
// Only the Ready condition changes. The states of the containers stay, so a pod that still serves can
// be distinguished from one that does not.
import { toTime } from "../../../environment/clock.ts";
import { parseJson, StatusError } from "../../../kube/client/client.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../../../kube/kinds/fields.ts";
import { collectionPath, objectPath } from "../../../kube/kinds/kind.ts";
import { objectRecord } from "../../../kube/kinds/metadata.ts";
import type { ControllerOptions } from "../controller.ts";
import { type EventRecorder, referenceTo } from "../event-recorder.ts";
import { type OwnedPod, ownedPodKind } from "../owned-pod.ts";
import type { NodeLog } from "./node-log.ts";

export interface UnreadyPodsOptions extends ControllerOptions {
  readonly nodeLog: NodeLog;
  readonly events: EventRecorder;
}

/** Those in the cache; in versions that read from the server, those it has now. */
export async function podsOn(
  { client, informers, profile }: ControllerOptions,
  node: string,
  signal: AbortSignal,
): Promise<readonly OwnedPod[]> {
  if (profile.nodes.podsFrom === "cache") {
    return [...informers.pods().store.byIndex("node", node)];
  }
  const selector = encodeURIComponent(`spec.nodeName=${node}`);
  const path = `${collectionPath(ownedPodKind)}?fieldSelector=${selector}`;
  const answer = parseJson(await client.request({ verb: "list", method: "GET", path, signal }));
  return listAt(objectRecord(answer), "items").map((item) => ownedPodKind.project(item));
}

/** Goes over all, and fails afterwards if one of them could not be written. */
export async function markUnready(
  options: UnreadyPodsOptions,
  node: string,
  pods: readonly OwnedPod[],
  signal: AbortSignal,
): Promise<void> {
  const { nodeLog, profile, events } = options;
  nodeLog.note({ type: "unreadyPods", node });
  const failures: unknown[] = [];
  for (const pod of pods) {
    const isWritten = profile.nodes.writesUnreadyPods || pod.ready !== "False";
    if (pod.ready === undefined || !isWritten) continue;
    nodeLog.note({ type: "unreadyPod", pod: pod.metadata });
    try {
      await putUnready(options, pod, signal);
    } catch (error) {
      // A pod that is gone needs nothing.
      if (error instanceof StatusError && error.code === 404) continue;
      failures.push(error);
    }
    if (profile.nodes.tellsPods) {
      const text = { reason: "NodeNotReady", message: "Node is not ready" };
      events.record(referenceTo("Pod", "v1", pod), { type: "Warning", ...text });
    }
  }
  if (failures.length > 0) throw new Error("not all pods were written", { cause: failures[0] });
}

async function putUnready(
  { client, clock, profile }: UnreadyPodsOptions,
  { metadata, raw }: OwnedPod,
  signal: AbortSignal,
): Promise<void> {
  const status = recordAt(raw, "status");
  const changes: RawRecord =
    profile.nodes.podTransitionTime === "set"
      ? { status: "False", lastTransitionTime: toTime(clock.wallMs()) }
      : { status: "False" };
  const conditions = listAt(status, "conditions")
    .filter(isRecord)
    .map((condition) =>
      condition["type"] === "Ready" && condition["status"] !== "False"
        ? { ...condition, ...changes }
        : condition,
    );
  await client.request({
    verb: "update",
    method: "PUT",
    path: objectPath(ownedPodKind, metadata, "status"),
    body: { ...raw, apiVersion: "v1", kind: "Pod", status: { ...status, conditions } },
    signal,
  });
}
