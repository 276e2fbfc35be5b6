// The pod collector: force-deletes pods that nothing else would delete. These are pods on nodes that no
// longer exist, terminating pods without a node, and the oldest ended pods when there are too many.
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import { parseJson, StatusError } from "../../../kube/client/client.ts";
import { listAt } from "../../../kube/kinds/fields.ts";
import { collectionPath, objectPath } from "../../../kube/kinds/kind.ts";
import { objectRecord } from "../../../kube/kinds/metadata.ts";
import type { ControllerOptions } from "../controller.ts";
import { isTerminal, type OwnedPod, ownedPodKind } from "../owned-pod.ts";
import { disrupted } from "./disruption.ts";
import { NodeLog } from "./node-log.ts";
import { wholeNodeKind } from "./whole-node.ts";

/** gc_controller.go gcCheckPeriod. */
const scanEveryMs = 20_000;

/** Runs until the signal aborts. */
export async function runPodGc(options: ControllerOptions, signal: AbortSignal): Promise<void> {
  const { informers, timers } = options;
  informers.pods();
  informers.nodes();
  const collector = new PodCollector(options, signal);
  try {
    await informers.waitForSync(signal);
    for (;;) {
      await collector.scan();
      await timers.sleep(scanEveryMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

class PodCollector {
  readonly #options: ControllerOptions;
  readonly #signal: AbortSignal;
  readonly #log: NodeLog;
  /** When a node that pods name was first missed. */
  readonly #missing = new Map<string, MonotonicMs>();

  constructor(options: ControllerOptions, signal: AbortSignal) {
    const { klog, flags, profile } = options;
    this.#options = options;
    this.#signal = signal;
    this.#log = new NodeLog({ klog, verbosity: flags.v, style: profile.nodes.lines });
  }

  async scan(): Promise<void> {
    const pods = [...this.#options.informers.pods().store];
    await this.#collectEnded(pods);
    await this.#collectOrphans(pods);
    for (const pod of pods) {
      if (pod.metadata.deletionTimestamp === undefined || pod.nodeName !== "") continue;
      this.#log.note({ type: "unscheduled", pod: pod.metadata });
      const isGone = await this.#forceDelete(pod);
      if (isGone) this.#log.note({ type: "unscheduledGone", pod: pod.metadata });
    }
  }

  async #collectEnded(pods: readonly OwnedPod[]): Promise<void> {
    const threshold = this.#options.flags["terminated-pod-gc-threshold"];
    if (threshold === 0) return;
    const ended = pods.filter(isTerminal);
    if (ended.length <= threshold) return;
    const oldestFirst = ended.toSorted(
      ({ metadata: one }, { metadata: other }) =>
        (one.creationTimestamp ?? 0) - (other.creationTimestamp ?? 0) ||
        (one.name < other.name ? -1 : 1),
    );
    const excess = oldestFirst.slice(0, ended.length - threshold);
    await Promise.all(excess.map((pod) => this.#forceDelete(pod)));
  }

  async #collectOrphans(pods: readonly OwnedPod[]): Promise<void> {
    const lost = await this.#lostNodes(pods);
    for (const pod of pods) {
      if (!lost.has(pod.nodeName)) continue;
      this.#log.note({ type: "orphaned", pod: pod.metadata, node: pod.nodeName });
      const why = { reason: "DeletionByPodGC", message: "PodGC: node no longer exists" };
      const isGone = await this.#forceDelete(pod, why);
      if (isGone) this.#log.note({ type: "orphanGone", pod: pod.metadata });
    }
  }

  /** Missed for the whole quarantine, and not on the server either. */
  async #lostNodes(pods: readonly OwnedPod[]): Promise<ReadonlySet<string>> {
    const { informers, clock, profile } = this.#options;
    if (profile.nodes.orphanQuarantineMs === 0) return this.#unlistedNodes(pods);
    const nodes = informers.nodes().store;
    const now = clock.monotonicMs();
    const named = new Set(pods.map(({ nodeName }) => nodeName).filter((name) => name !== ""));
    for (const name of this.#missing.keys()) {
      if (!named.has(name) || nodes.get("", name) !== undefined) this.#missing.delete(name);
    }
    const lost = new Set<string>();
    for (const name of named) {
      if (nodes.get("", name) !== undefined) continue;
      const since = this.#missing.get(name) ?? now;
      this.#missing.set(name, since);
      if (elapsedMs(since, now) < profile.nodes.orphanQuarantineMs) continue;
      if (await this.#isGone(name)) lost.add(name);
      this.#missing.delete(name);
    }
    return lost;
  }

  /** Those that the server does not list; each scan reads the list. */
  async #unlistedNodes(pods: readonly OwnedPod[]): Promise<ReadonlySet<string>> {
    const path = collectionPath(wholeNodeKind);
    const signal = this.#signal;
    try {
      const request = { verb: "list", method: "GET", path, signal } as const;
      const answer = objectRecord(parseJson(await this.#options.client.request(request)));
      const nodes = listAt(answer, "items").map((item) => wholeNodeKind.project(item));
      const listed = new Set(nodes.map(({ metadata }) => metadata.name));
      const named = pods.map(({ nodeName }) => nodeName);
      return new Set(named.filter((name) => name !== "" && !listed.has(name)));
    } catch (error) {
      if (signal.aborted) throw error;
      return new Set();
    }
  }

  async #isGone(node: string): Promise<boolean> {
    const path = objectPath(wholeNodeKind, { namespace: "", name: node });
    try {
      const signal = this.#signal;
      await this.#options.client.request({ verb: "get", method: "GET", path, signal });
      return false;
    } catch (error) {
      if (this.#signal.aborted) throw error;
      return error instanceof StatusError && error.code === 404;
    }
  }

  /** True when it is gone; what failed is found again by the next scan. */
  async #forceDelete(
    pod: OwnedPod,
    why?: { readonly reason: string; readonly message: string },
  ): Promise<boolean> {
    const { client, clock, profile, log } = this.#options;
    const signal = this.#signal;
    this.#log.note({ type: "forceDeleting", pod: pod.metadata });
    try {
      if (profile.nodes.explainsDeletion && why !== undefined && !isTerminal(pod)) {
        const patch = disrupted(pod, clock.wallMs(), { ...why, phase: "Failed" });
        await client.request({ ...patch, signal });
      }
      const path = objectPath(ownedPodKind, pod.metadata);
      const body = { gracePeriodSeconds: 0 };
      await client.request({ verb: "delete", method: "DELETE", path, body, signal });
      return true;
    } catch (error) {
      if (this.#signal.aborted) throw error;
      const { namespace, name } = pod.metadata;
      log.debug("a pod could not be deleted", { pod: `${namespace}/${name}`, error });
      return false;
    }
  }
}
