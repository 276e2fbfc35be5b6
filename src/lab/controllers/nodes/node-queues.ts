// What the node lifecycle controller does between two looks, as soon as it hears of something:
// NoSchedule taints follow a node's conditions, and a pod that lands on a lost node is marked.
import { objectKey, splitObjectKey } from "../../../kube/kinds/kind.ts";
import { runWorkers } from "../../../kube/workqueue/workqueue-workers.ts";
import { controllerQueue, defaultMaxRetries } from "../controller.ts";
import { changeTaints, scheduleTaints } from "./taints.ts";
import { markUnready, type UnreadyPodsOptions } from "./unready-pods.ts";

export interface NodeQueuesOptions extends UnreadyPodsOptions {
  readonly isLost: (node: string) => boolean;
}

/** node_lifecycle_controller.go nodeUpdateWorkerSize and podUpdateWorkerSize. */
const nodeWorkers = 8;
const podWorkers = 4;

/** Runs until the signal aborts. Its handlers are registered before it first waits. */
export async function runNodeQueues(
  options: NodeQueuesOptions,
  signal: AbortSignal,
): Promise<void> {
  if (!options.profile.nodes.taintsByCondition) return;
  const { informers, log } = options;
  const nodes = controllerQueue(options, "node_lifecycle_controller");
  const pods = controllerQueue(options, "node_lifecycle_controller_pods");
  informers.nodes().onChange(({ type, object }) => {
    if (type !== "deleted") nodes.add(object.metadata.name);
  });
  informers.pods().onChange((change) => {
    const { type, object } = change;
    const before = change.type === "updated" ? change.previous.nodeName : "";
    if (type !== "deleted" && object.nodeName !== before) pods.add(objectKey(object.metadata));
  });
  const workers = { maxRetries: defaultMaxRetries, log, signal };
  try {
    await informers.waitForSync(signal);
    await Promise.all([
      runWorkers({
        ...workers,
        queue: nodes,
        workers: nodeWorkers,
        // doNodeProcessingPassWorker: what failed waits for the node's next change.
        maxRetries: 0,
        sync: (name) => taintBySchedule(options, name, signal),
      }),
      runWorkers({
        ...workers,
        queue: pods,
        workers: podWorkers,
        sync: (key) => markIfLost(options, key, signal),
      }),
    ]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    nodes.shutDown();
    pods.shutDown();
  }
}

async function taintBySchedule(
  options: NodeQueuesOptions,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const node = options.informers.nodes().store.get("", name);
  if (node === undefined) return;
  const change = scheduleTaints(node);
  if (change.add.length === 0 && change.remove.length === 0) return;
  await changeTaints(options, node, change, signal);
}

async function markIfLost(
  options: NodeQueuesOptions,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name } = splitObjectKey(key);
  const pod = options.informers.pods().store.get(namespace, name);
  if (pod === undefined || !options.isLost(pod.nodeName)) return;
  await markUnready(options, pod.nodeName, [pod], signal);
}
