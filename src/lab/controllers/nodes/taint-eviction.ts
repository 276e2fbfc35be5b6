// Deletes pods from nodes with NoExecute taints once their tolerations have run out: the taint
// manager, a controller of its own since 1.29 (pkg/controller/tainteviction). A taint that goes in
// time saves the pod.
import type { CancelTimer } from "../../../environment/timers.ts";
import { parseJson, StatusError } from "../../../kube/client/client.ts";
import { objectKey, objectPath, splitObjectKey } from "../../../kube/kinds/kind.ts";
import type { Taint } from "../../../kube/kinds/node.ts";
import { Workqueue } from "../../../kube/workqueue/workqueue.ts";
import { runWorkers } from "../../../kube/workqueue/workqueue-workers.ts";
import { type ControllerOptions, controllerQueue } from "../controller.ts";
import { EventRecorder } from "../event-recorder.ts";
import { type OwnedPod, ownedPodKind } from "../owned-pod.ts";
import { disrupted } from "./disruption.ts";
import { NodeLog, type PodName } from "./node-log.ts";
import { toleratedMs } from "./taints.ts";
import type { WholeNode } from "./whole-node.ts";

/** Runs until the signal aborts. */
export async function runTaintEviction(
  options: ControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { informers, log } = options;
  const eviction = new TaintEviction(options, signal);
  const nodes = taintQueue(options, "noexec_taint_node");
  const pods = taintQueue(options, "noexec_taint_pod");
  informers.nodes().onChange((change) => {
    const { type, object } = change;
    const isSame = type === "updated" && sameTaints(noExecute(change.previous), noExecute(object));
    if (!isSame) nodes.add(object.metadata.name);
  });
  informers.pods().onChange((change) => {
    const isSame = change.type === "updated" && change.previous.nodeName === change.object.nodeName;
    if (!isSame) pods.add(objectKey(change.object.metadata));
  });
  const workers = { workers: 1, maxRetries: 0, log, signal };
  try {
    await informers.waitForSync(signal);
    await Promise.all([
      runWorkers({ ...workers, queue: nodes, sync: async (name) => eviction.nodeChanged(name) }),
      runWorkers({ ...workers, queue: pods, sync: async (key) => eviction.podChanged(key) }),
    ]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    nodes.shutDown();
    pods.shutDown();
    await eviction.stop();
  }
}

/** Has metrics only where the version names it. */
function taintQueue(options: ControllerOptions, name: string): Workqueue {
  const { clock, timers, profile } = options;
  return profile.nodes.namesTaintQueues
    ? controllerQueue(options, name)
    : new Workqueue({ clock, timers, name });
}

/** taint_eviction.go retries and the pause between them. */
const triesMax = 5;
const retryMs = 10;

class TaintEviction {
  readonly #options: ControllerOptions;
  readonly #signal: AbortSignal;
  readonly #events: EventRecorder;
  readonly #log: NodeLog;
  /** By node, those with NoExecute taints. */
  readonly #taints = new Map<string, readonly Taint[]>();
  /** By pod: its deletion is set for a time. */
  readonly #pending = new Map<string, CancelTimer>();
  readonly #running = new Set<Promise<void>>();

  constructor(options: ControllerOptions, signal: AbortSignal) {
    const { klog, flags, profile } = options;
    this.#options = options;
    this.#signal = signal;
    const component = profile.events.taintComponent;
    const logger = "taint-eviction-controller";
    this.#events = new EventRecorder({ ...options, component, logger, signal });
    this.#log = new NodeLog({ klog, verbosity: flags.v, style: profile.nodes.lines });
  }

  /** handleNodeUpdate: of a node that is gone it forgets the taints, and lets the times run on. */
  nodeChanged(name: string): void {
    const { informers } = this.#options;
    const node = informers.nodes().store.get("", name);
    const taints = node === undefined ? [] : noExecute(node);
    if (taints.length === 0) this.#taints.delete(name);
    else this.#taints.set(name, taints);
    if (node === undefined) return;
    for (const pod of informers.pods().store.byIndex("node", name)) this.#consider(pod, taints);
  }

  podChanged(key: string): void {
    const { namespace, name } = splitObjectKey(key);
    const pod = this.#options.informers.pods().store.get(namespace, name);
    if (pod === undefined) {
      this.#cancel({ namespace, name }, { isRecorded: false });
      return;
    }
    const taints = this.#taints.get(pod.nodeName);
    if (taints !== undefined) this.#consider(pod, taints);
  }

  async stop(): Promise<void> {
    for (const cancel of this.#pending.values()) cancel();
    this.#pending.clear();
    await Promise.all(this.#running);
    await this.#events.settled();
  }

  #consider(pod: OwnedPod, taints: readonly Taint[]): void {
    const waitMs = toleratedMs(pod, taints);
    if (taints.length === 0 || waitMs === Number.POSITIVE_INFINITY) {
      this.#cancel(pod.metadata, { isRecorded: true });
      return;
    }
    const key = objectKey(pod.metadata);
    // Another taint does not restart the time.
    if (this.#pending.has(key) && waitMs > 0) return;
    this.#cancel(pod.metadata, { isRecorded: false });
    const cancel = this.#options.timers.after(waitMs, () => {
      this.#pending.delete(key);
      const run = this.#evict(pod).finally(() => this.#running.delete(run));
      this.#running.add(run);
    });
    this.#pending.set(key, cancel);
  }

  #cancel(pod: PodName, { isRecorded }: { readonly isRecorded: boolean }): void {
    const key = objectKey(pod);
    const cancel = this.#pending.get(key);
    if (cancel === undefined) return;
    cancel();
    this.#pending.delete(key);
    if (isRecorded) this.#record(pod, `Cancelling deletion of Pod ${key}`);
  }

  #record(pod: PodName, message: string): void {
    const { namespace, name } = pod;
    const text = { type: "Normal", reason: "TaintManagerEviction", message } as const;
    const { handWritten } = this.#options.profile.events;
    this.#events.record({ kind: "Pod", namespace, name, ...handWritten }, text);
  }

  async #evict({ metadata }: OwnedPod): Promise<void> {
    const { timers, log } = this.#options;
    this.#log.note({ type: "evicting", pod: metadata });
    this.#record(metadata, `Marking for deletion Pod ${objectKey(metadata)}`);
    for (let tries = 1; !this.#signal.aborted; tries += 1) {
      try {
        await this.#deletePod(metadata);
        return;
      } catch (error) {
        if (error instanceof StatusError && error.code === 404) return;
        if (this.#signal.aborted) return;
        if (tries === triesMax) {
          log.warn("a pod could not be evicted", { pod: objectKey(metadata), error });
          return;
        }
      }
      await timers.sleep(retryMs);
    }
  }

  async #deletePod(metadata: OwnedPod["metadata"]): Promise<void> {
    const { client, profile, clock } = this.#options;
    const path = objectPath(ownedPodKind, metadata);
    const signal = this.#signal;
    if (profile.nodes.explainsDeletion) {
      const answer = await client.request({ verb: "get", method: "GET", path, signal });
      const pod = ownedPodKind.project(parseJson(answer));
      const patch = disrupted(pod, clock.wallMs(), {
        reason: "DeletionByTaintManager",
        message: "Taint manager: deleting due to NoExecute taint",
      });
      await client.request({ ...patch, signal });
    }
    await client.request({ verb: "delete", method: "DELETE", path, signal });
  }
}

function noExecute({ taints }: WholeNode): readonly Taint[] {
  return taints.filter(({ effect }) => effect === "NoExecute");
}

function sameTaints(one: readonly Taint[], other: readonly Taint[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ key, value }) => other.some((taint) => taint.key === key && taint.value === value))
  );
}
