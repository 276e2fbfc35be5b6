// A scheduler in its simplest honest form: each pod without a node gets the ready node with the
// fewest pods, by the binding subresource. A pod that was just bound counts before the watch shows
// it, so that a burst of pods spreads.
import type { Environment } from "../../environment/environment.ts";
import { type KubeClient, StatusError } from "../../kube/client/client.ts";
import { objectKey, objectPath, splitObjectKey } from "../../kube/kinds/kind.ts";
import { type Node, nodeKind } from "../../kube/kinds/node.ts";
import { type Pod, podKind } from "../../kube/kinds/pod.ts";
import { Reflector } from "../../kube/reflector/reflector.ts";
import { noChecks } from "../../kube/reflector/reflector-parts.ts";
import { Workqueue } from "../../kube/workqueue/workqueue.ts";
import { runWorkers } from "../../kube/workqueue/workqueue-workers.ts";

export interface SchedulerOptions extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  /** Rate-limited or not, as the caller wants. */
  readonly client: KubeClient;
  readonly cluster: string;
}

/** The real one chooses for one pod at a time. */
const workers = 1;
const maxRetries = 15;
const requestDeadlineMs = 30_000;

/** Runs until the signal aborts. */
export async function runScheduler(options: SchedulerOptions, signal: AbortSignal): Promise<void> {
  const { client, cluster, clock, timers, random, log } = options;
  const shared = { client, cluster, clock, timers, random, log, checks: noChecks };
  const queue = new Workqueue({ clock, timers, name: "scheduler" });
  /** Bound by us and not yet shown so by the watch: pod uid to node. */
  const assumed = new Map<string, string>();
  const pods = new Reflector({
    ...shared,
    kind: podKind,
    indexes: { node: ({ nodeName }: Pod) => nodeName },
    handlers: [
      ({ type, object }) => {
        const isPlaced = object.nodeName !== "";
        if (isPlaced || type === "deleted") assumed.delete(object.metadata.uid);
        if (!isPlaced && type !== "deleted") queue.add(objectKey(object.metadata));
      },
    ],
  });
  const nodes = new Reflector({
    ...shared,
    kind: nodeKind,
    indexes: {},
    handlers: [
      // A node more may be what waiting pods waited for.
      ({ type, object }) => {
        if (type === "deleted" || !isSchedulable(object)) return;
        for (const pod of pods.store.byIndex("node", "")) queue.add(objectKey(pod.metadata));
      },
    ],
  });
  pods.start();
  nodes.start();
  const sync = async (key: string, stop: AbortSignal): Promise<void> => {
    const { namespace, name } = splitObjectKey(key);
    const pod = pods.store.get(namespace, name);
    if (pod === undefined || !isWaiting(pod) || assumed.has(pod.metadata.uid)) return;
    const podsOn = (node: string): number => {
      const placed = [...pods.store.byIndex("node", node)].length;
      return placed + [...assumed.values()].filter((one) => one === node).length;
    };
    const node = chooseNode(nodes.store, podsOn);
    if (node === undefined) return;
    assumed.set(pod.metadata.uid, node.metadata.name);
    await bind(client, pod, node, stop).catch((error: unknown) => {
      assumed.delete(pod.metadata.uid);
      // Deleted, or bound by another scheduler: the watch reports it.
      if (!(error instanceof StatusError && (error.code === 404 || error.code === 409))) {
        throw error;
      }
    });
  };
  try {
    await Promise.all([pods.waitForSync(signal), nodes.waitForSync(signal)]);
    await runWorkers({ queue, workers, sync, maxRetries, log, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    queue.shutDown();
    await Promise.all([pods.stop(), nodes.stop()]);
  }
}

/** The one with the fewest pods; of several, the first by name. */
export function chooseNode(
  nodes: Iterable<Node>,
  podsOn: (name: string) => number,
): Node | undefined {
  let best: { readonly node: Node; readonly count: number } | undefined;
  for (const node of nodes) {
    if (!isSchedulable(node)) continue;
    const count = podsOn(node.metadata.name);
    const isBetter =
      best === undefined ||
      count < best.count ||
      (count === best.count && node.metadata.name < best.node.metadata.name);
    if (isBetter) best = { node, count };
  }
  return best?.node;
}

function isSchedulable({ ready, unschedulable, taints }: Node): boolean {
  const isTainted = taints.some(({ effect }) => effect === "NoSchedule" || effect === "NoExecute");
  return ready?.status === "True" && !unschedulable && !isTainted;
}

function isWaiting({ nodeName, metadata, phase }: Pod): boolean {
  const isOver = phase === "Failed" || phase === "Succeeded";
  return nodeName === "" && metadata.deletionTimestamp === undefined && !isOver;
}

async function bind(client: KubeClient, pod: Pod, node: Node, signal: AbortSignal): Promise<void> {
  const { namespace, name, uid } = pod.metadata;
  await client.request({
    verb: "create",
    method: "POST",
    path: objectPath(podKind, pod.metadata, "binding"),
    body: {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { namespace, name, uid },
      target: { apiVersion: "v1", kind: "Node", name: node.metadata.name },
    },
    deadlineMs: requestDeadlineMs,
    signal,
  });
}
