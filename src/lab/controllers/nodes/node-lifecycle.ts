// The node lifecycle controller: every few seconds it reads the last heartbeat of each node. After the
// grace period without one, conditions become Unknown, pods not ready, and the node is queued to be
// emptied. Only the kubelet makes a pod ready again.
import { parseJson, StatusError } from "../../../kube/client/client.ts";
import { objectKey, objectPath, splitObjectKey } from "../../../kube/kinds/kind.ts";
import type { ConditionStatus } from "../../../kube/kinds/pod.ts";
import { runWorkers } from "../../../kube/workqueue/workqueue-workers.ts";
import { type ControllerOptions, controllerQueue, defaultMaxRetries } from "../controller.ts";
import { EventRecorder } from "../event-recorder.ts";
import { NodeEviction } from "./node-eviction.ts";
import { type Look, NodeJudge } from "./node-judge.ts";
import { NodeLog } from "./node-log.ts";
import { NodeMetrics } from "./node-metrics.ts";
import { NodeZones } from "./node-zones.ts";
import { changeTaints, scheduleTaints } from "./taints.ts";
import { markUnready, podsOn, type UnreadyPodsOptions } from "./unready-pods.ts";
import { type WholeNode, wholeNodeKind } from "./whole-node.ts";

/**
 * The time of one check of all nodes. The next period begins at its end (wait.Until), so eight
 * periods of 5 s are more than 40 s: a grace of 40 s is over at the eighth check, not at the ninth.
 */
const lookMs = 1;

/** node_lifecycle_controller.go retrySleepTime and NodeHealthUpdateRetry. */
const retryMs = 20;
const triesMax = 5;

/** Runs until the signal aborts. */
export async function runNodeLifecycle(
  options: ControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { informers, flags, profile, klog, registry } = options;
  const rules = profile.nodes;
  informers.nodes();
  informers.pods();
  if (rules.leases) informers.nodeLeases();
  const events = new EventRecorder({
    ...options,
    component: profile.events.nodeComponent,
    logger: "node-lifecycle-controller",
    signal,
  });
  const nodeLog = new NodeLog({ klog, verbosity: flags.v, style: rules.lines });
  const metrics = new NodeMetrics(registry, rules);
  const shared = { ...options, events, nodeLog };
  const eviction = new NodeEviction({ ...shared, metrics, signal });
  const judge = new NodeJudge(shared);
  const controller = new NodeLifecycle({ ...shared, eviction, metrics, judge }, signal);
  const queues = runNodeQueues({ ...shared, isLost: (node) => judge.isLost(node) }, signal);
  try {
    await Promise.all([queues, controller.run()]);
  } finally {
    await eviction.stop();
    await events.settled();
  }
}

interface NodeLifecycleOptions extends UnreadyPodsOptions {
  readonly eviction: NodeEviction;
  readonly metrics: NodeMetrics;
  readonly judge: NodeJudge;
}

class NodeLifecycle {
  readonly #options: UnreadyPodsOptions;
  readonly #eviction: NodeEviction;
  readonly #zones: NodeZones;
  readonly #signal: AbortSignal;
  /** Of the nodes that exist. */
  readonly #known = new Map<string, WholeNode>();
  readonly #judge: NodeJudge;
  /** Not all of their pods could be marked. */
  readonly #toRetry = new Set<string>();

  constructor(options: NodeLifecycleOptions, signal: AbortSignal) {
    this.#options = options;
    this.#eviction = options.eviction;
    this.#judge = options.judge;
    this.#signal = signal;
    this.#zones = new NodeZones(options);
  }

  /** Until the signal aborts. */
  async run(): Promise<void> {
    const { informers, timers, flags } = this.#options;
    try {
      await informers.waitForSync(this.#signal);
      for (;;) {
        await this.#lookAtAll();
        await timers.sleep(flags["node-monitor-period"] + lookMs, this.#signal);
      }
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    }
  }

  async #lookAtAll(): Promise<void> {
    const nodes = [...this.#options.informers.nodes().store];
    await this.#noteComings(nodes);
    const statuses = new Map<WholeNode, ConditionStatus | undefined>();
    const waiting = [...nodes];
    const work = async (): Promise<void> => {
      for (let node = waiting.shift(); node !== undefined; node = waiting.shift()) {
        const looked = await this.#lookAt(node);
        if (looked !== undefined) statuses.set(node, looked.status);
      }
    };
    const { nodesAtOnce } = this.#options.profile.nodes;
    await Promise.all(Array.from({ length: nodesAtOnce }, work));
    const isBack = await this.#zones.update(statuses);
    if (isBack) this.#judge.forgiveAll();
  }

  async #noteComings(nodes: readonly WholeNode[]): Promise<void> {
    const { nodeLog, profile } = this.#options;
    const { self } = profile.nodes.lines;
    const names = new Set(nodes.map(({ metadata }) => metadata.name));
    for (const node of nodes) {
      const { name } = node.metadata;
      if (this.#known.has(name)) continue;
      nodeLog.note({ type: "nodeAdded", node: name });
      this.#record(node, "RegisteredNode", `Registered Node ${name} in ${self}`);
      this.#known.set(name, node);
      await this.#attempt(name, () => this.#eviction.release(node));
    }
    for (const [name, node] of this.#known) {
      if (names.has(name)) continue;
      nodeLog.note({ type: "nodeDeleted", node: name });
      this.#record(node, "RemovingNode", `Removing Node ${name} from ${self}`);
      this.#known.delete(name);
      this.#judge.forget(name);
      this.#toRetry.delete(name);
    }
  }

  /** Undefined when the node's health could not be written: then nothing follows from it. */
  async #lookAt(found: WholeNode): Promise<Look | undefined> {
    const { name } = found.metadata;
    const { timers, profile } = this.#options;
    let node = found;
    for (let tries = 1; ; tries += 1) {
      try {
        const looked = await this.#judge.judge(node, this.#signal);
        const { observed, status, health } = looked;
        const by = profile.nodes.evictionBy === "current" ? status : observed?.status;
        if (by !== undefined) {
          await this.#attempt(name, () => this.#eviction.consider(node, by, health));
        }
        await this.#markPods(looked);
        return looked;
      } catch (error) {
        if (this.#signal.aborted) throw error;
        const isGone = error instanceof StatusError && error.code === 404;
        if (isGone || tries === triesMax) {
          this.#options.log.warn("the health of a node could not be written", { name, error });
          return undefined;
        }
        await timers.sleep(retryMs, this.#signal);
        node = await this.#readNode(name);
      }
    }
  }

  /** Only when a node that was ready is no longer, and once more as long as that failed. */
  async #markPods({ node, observed, status }: Look): Promise<void> {
    const { nodeLog, log } = this.#options;
    const { name } = node.metadata;
    const isFlip = status !== "True" && observed?.status === "True";
    if (isFlip) {
      nodeLog.note({ type: "statusChange", node: name, status: "NodeNotReady" });
      this.#tellAs(node, "NodeNotReady", `Node ${name} status is now: NodeNotReady`);
    }
    if (!isFlip && !(this.#toRetry.has(name) && observed?.status !== "True")) {
      this.#toRetry.delete(name);
      return;
    }
    try {
      const pods = await podsOn(this.#options, name, this.#signal);
      await markUnready(this.#options, name, pods, this.#signal);
      this.#toRetry.delete(name);
    } catch (error) {
      this.#toRetry.add(name);
      if (!this.#signal.aborted)
        log.warn("not all pods of a lost node were marked", { name, error });
    }
  }

  #record(node: WholeNode, reason: string, event: string): void {
    const { name } = node.metadata;
    this.#options.nodeLog.note({ type: "nodeEvent", node: name, event });
    this.#tellAs(node, reason, `Node ${name} event: ${event}`);
  }

  #tellAs({ metadata: { name, uid } }: WholeNode, reason: string, message: string): void {
    const text = { type: "Normal", reason, message } as const;
    const { handWritten } = this.#options.profile.events;
    this.#options.events.record({ kind: "Node", namespace: "", name, uid, ...handWritten }, text);
  }

  async #readNode(name: string): Promise<WholeNode> {
    const path = objectPath(wholeNodeKind, { namespace: "", name });
    const request = { verb: "get", method: "GET", path, signal: this.#signal } as const;
    return wholeNodeKind.project(parseJson(await this.#options.client.request(request)));
  }

  /** A failed action is tried again at the next check. */
  async #attempt(node: string, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (this.#signal.aborted) throw error;
      this.#options.log.warn("the taints of a node could not be changed", { node, error });
    }
  }
}

interface NodeQueuesOptions extends UnreadyPodsOptions {
  readonly isLost: (node: string) => boolean;
}

/** node_lifecycle_controller.go nodeUpdateWorkerSize and podUpdateWorkerSize. */
const nodeWorkers = 8;
const podWorkers = 4;

/** Runs until the signal aborts. Its handlers are registered before it first waits. */
async function runNodeQueues(options: NodeQueuesOptions, signal: AbortSignal): Promise<void> {
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
