// The queues of lost nodes, one per zone, emptied at the rate of the zone. Emptying adds the NoExecute
// taint, and the taint eviction controller does the rest. Older versions delete the pods here, once the
// node has been lost for `--pod-eviction-timeout`.
import {
  type Clock,
  elapsedMs,
  type MonotonicMs,
  monotonicAfter,
} from "../../../environment/clock.ts";
import type { CancelTimer, Timers } from "../../../environment/timers.ts";
import { StatusError } from "../../../kube/client/client.ts";
import { recordAt } from "../../../kube/kinds/fields.ts";
import { objectPath } from "../../../kube/kinds/kind.ts";
import type { ConditionStatus } from "../../../kube/kinds/pod.ts";
import { referenceTo } from "../event-recorder.ts";
import { type OwnedPod, ownedPodKind } from "../owned-pod.ts";
import type { NodeHealth } from "./node-health.ts";
import type { NodeMetrics } from "./node-metrics.ts";
import { changeTaints, hasTaint, notReady, type TaintKey, unreachable } from "./taints.ts";
import { podsOn, type UnreadyPodsOptions } from "./unready-pods.ts";
import { type WholeNode, zoneOf } from "./whole-node.ts";

interface NodeEvictionOptions extends UnreadyPodsOptions {
  readonly metrics: NodeMetrics;
  readonly signal: AbortSignal;
}

export class NodeEviction {
  readonly #options: NodeEvictionOptions;
  readonly #queues = new Map<string, ZoneQueue>();

  constructor(options: NodeEvictionOptions) {
    this.#options = options;
  }

  setRate(zone: string, rate: number): void {
    this.#queue(zone).setRate(rate);
  }

  /** Acts on the Ready condition of a node, at each check of the node. */
  async consider(node: WholeNode, status: ConditionStatus, health: NodeHealth): Promise<void> {
    if (status === "True") await this.release(node);
    else if (this.#options.profile.nodes.eviction === "taints")
      await this.#queueTaint(node, status);
    else this.#queueTimeout(node, status, health);
  }

  /** The node reports again, or no node does and so none is emptied. */
  async release(node: WholeNode): Promise<void> {
    const { nodeLog, signal, profile } = this.#options;
    for (const taint of [unreachable, notReady]) {
      await changeTaints(this.#options, node, { add: [], remove: [taint] }, signal);
    }
    const wasQueued = this.#queue(zoneOf(node)).remove(node.metadata.name);
    if (wasQueued && profile.nodes.eviction === "taints") {
      nodeLog.note({ type: "healthyAgain", node: node.metadata.name });
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.stop()));
  }

  async #queueTaint(node: WholeNode, status: "False" | "Unknown"): Promise<void> {
    const { nodeLog, signal, clock, profile } = this.#options;
    const { name } = node.metadata;
    const [wanted, opposite] = taintsFor(status);
    if (hasTaint(node, opposite)) {
      const change = { add: [wanted], remove: [opposite] };
      await changeTaints(this.#options, node, change, signal);
      return;
    }
    const queue = this.#queue(zoneOf(node));
    if (profile.nodes.requeuesUntainted && !hasTaint(node, wanted)) queue.remove(name);
    if (queue.add(name)) nodeLog.note({ type: "toTaint", node: name, status, at: clock.wallMs() });
  }

  #queueTimeout(node: WholeNode, status: "False" | "Unknown", health: NodeHealth): void {
    const { clock, flags } = this.#options;
    const since = status === "False" ? health.changedAt : health.seenAt;
    if (elapsedMs(since, clock.monotonicMs()) <= flags["pod-eviction-timeout"]) return;
    this.#queue(zoneOf(node)).add(node.metadata.name);
  }

  #queue(zone: string): ZoneQueue {
    const known = this.#queues.get(zone);
    if (known !== undefined) return known;
    const { clock, timers, flags, metrics, nodeLog } = this.#options;
    nodeLog.note({ type: "newZone", zone });
    metrics.evictions(zone);
    const queue = new ZoneQueue({
      clock,
      timers,
      rate: flags["node-eviction-rate"],
      empty: (node) => this.#tryToEmpty(zone, node),
    });
    this.#queues.set(zone, queue);
    return queue;
  }

  async #tryToEmpty(zone: string, name: string): Promise<boolean> {
    const { informers, log, signal, metrics } = this.#options;
    const node = informers.nodes().store.get("", name);
    const status = node?.ready?.status;
    // It is gone, or back.
    if (node === undefined || status === undefined || status === "True") return true;
    try {
      await this.#empty(node, status);
    } catch (error) {
      if (!signal.aborted) log.warn("a lost node could not be emptied", { node: name, error });
      return false;
    }
    metrics.evictions(zone, 1);
    return true;
  }

  async #empty(node: WholeNode, status: "False" | "Unknown"): Promise<void> {
    const { profile, signal, events } = this.#options;
    const { name, uid } = node.metadata;
    if (profile.nodes.eviction === "taints") {
      const [wanted, opposite] = taintsFor(status);
      await changeTaints(this.#options, node, { add: [wanted], remove: [opposite] }, signal);
      return;
    }
    const pods = await podsOn(this.#options, name, signal);
    if (pods.length > 0) {
      const message = `Node ${name} event: Deleting all Pods from Node ${name}.`;
      const text = { type: "Normal", reason: "DeletingAllPods", message } as const;
      const { handWritten } = profile.events;
      events.record({ kind: "Node", namespace: "", name, uid, ...handWritten }, text);
    }
    for (const pod of pods) await this.#deletePod(pod, name);
  }

  /** controller_utils.go deletePods: the pod's status gets the reason, then it is deleted with its grace. */
  async #deletePod(pod: OwnedPod, node: string): Promise<void> {
    const { metadata, raw } = pod;
    const { client, signal, events } = this.#options;
    const message = `Node ${node} which was running pod ${metadata.name} is unresponsive`;
    const status = { ...recordAt(raw, "status"), reason: "NodeLost", message };
    const type = { apiVersion: "v1", kind: "Pod" };
    const statusPath = objectPath(ownedPodKind, metadata, "status");
    const put = { verb: "update", method: "PUT", path: statusPath } as const;
    try {
      await client.request({ ...put, body: { ...raw, ...type, status }, signal });
      if (metadata.deletionTimestamp !== undefined) return;
      const text = {
        type: "Normal",
        reason: "NodeControllerEviction",
        message: `Marking for deletion Pod ${metadata.name} from Node ${node}`,
      } as const;
      events.record(referenceTo("Pod", "v1", pod), text);
      const path = objectPath(ownedPodKind, metadata);
      await client.request({ verb: "delete", method: "DELETE", path, signal });
    } catch (error) {
      if (!(error instanceof StatusError && error.code === 404)) throw error;
    }
  }
}

/** The taint for a condition, and the one that excludes it. */
function taintsFor(status: "False" | "Unknown"): readonly [TaintKey, TaintKey] {
  return status === "False" ? [notReady, unreachable] : [unreachable, notReady];
}

interface ZoneQueueOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Nodes a second at first. */
  readonly rate: number;
  /** Empties a node; true when that worked, or is no longer wanted; otherwise it is tried again. */
  readonly empty: (node: string) => Promise<boolean>;
}

/** rate_limited_queue.go NodeEvictionPeriod: by then the watch shows what made the node lost. */
const lookEveryMs = 100;

class ZoneQueue {
  readonly #options: ZoneQueueOptions;
  /** In the order they were lost; the false ones have been emptied and may report again. */
  readonly #nodes = new Map<string, boolean>();
  #rate: number;
  /** When the next may be emptied: the bucket of the rate holds one token. */
  #nextAt: MonotonicMs;
  #cancel: CancelTimer | undefined;
  #busy: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: ZoneQueueOptions) {
    this.#options = options;
    this.#rate = options.rate;
    this.#nextAt = options.clock.monotonicMs();
  }

  /** False when the node is in the queue already, or has been emptied since it was removed. */
  add(node: string): boolean {
    if (this.#nodes.has(node)) return false;
    this.#nodes.set(node, true);
    this.#wake();
    return true;
  }

  /** True when it was there: the node reports again, or is queued again. */
  remove(node: string): boolean {
    return this.#nodes.delete(node);
  }

  setRate(rate: number): void {
    if (rate === this.#rate) return;
    const now = this.#options.clock.monotonicMs();
    // A wait at the old rate becomes a wait at the new rate, from now on.
    const isWaiting = this.#rate <= 0 || this.#nextAt > now;
    if (isWaiting && rate > 0) this.#nextAt = monotonicAfter(now, 1000 / rate);
    this.#rate = rate;
    this.#cancel?.();
    this.#cancel = undefined;
    this.#wake();
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#busy;
  }

  #wake(): void {
    const isIdle = this.#cancel === undefined && this.#busy === undefined;
    if (this.#isStopped || !isIdle || this.#rate <= 0 || this.#next() === undefined) return;
    const waitMs = elapsedMs(this.#options.clock.monotonicMs(), this.#nextAt);
    this.#cancel = this.#options.timers.after(Math.max(waitMs, lookEveryMs), () => {
      this.#cancel = undefined;
      this.#busy = this.#emptyNext().finally(() => {
        this.#busy = undefined;
        this.#wake();
      });
    });
  }

  #next(): string | undefined {
    for (const [node, isWaiting] of this.#nodes) if (isWaiting) return node;
    return undefined;
  }

  async #emptyNext(): Promise<void> {
    const node = this.#next();
    if (node === undefined) return;
    const { clock, empty } = this.#options;
    this.#nextAt = monotonicAfter(clock.monotonicMs(), 1000 / this.#rate);
    const isDone = await empty(node);
    if (isDone && this.#nodes.has(node)) this.#nodes.set(node, false);
  }
}
