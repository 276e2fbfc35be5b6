// Judges one node at a time: whether there was a sign of life within the grace period, and if not,
// writes its conditions as Unknown. It remembers of each node what was last seen of it.
import { type Clock, elapsedMs } from "../../../environment/clock.ts";
import { recordAt } from "../../../kube/kinds/fields.ts";
import { objectPath } from "../../../kube/kinds/kind.ts";
import type { NodeReady } from "../../../kube/kinds/node.ts";
import type { ConditionStatus } from "../../../kube/kinds/pod.ts";
import { nodeLeaseNamespace } from "../informers.ts";
import { type Instant, isLost, look, type NodeHealth, unknownConditions } from "./node-health.ts";
import type { UnreadyPodsOptions } from "./unready-pods.ts";
import { conditionsOf, type WholeNode, wholeNodeKind } from "./whole-node.ts";

export interface Look {
  readonly node: WholeNode;
  /** The Ready condition as it was found; undefined where there was none. */
  readonly observed: NodeReady | undefined;
  /** And as it is after the look. */
  readonly status: ConditionStatus;
  /** Before the conditions were written. */
  readonly health: NodeHealth;
}

export class NodeJudge {
  readonly #options: UnreadyPodsOptions;
  readonly #health = new Map<string, NodeHealth>();

  constructor(options: UnreadyPodsOptions) {
    this.#options = options;
  }

  /** Whether the node was not ready at the last look. */
  isLost(node: string): boolean {
    const ready = this.#health.get(node)?.ready;
    return ready !== undefined && ready.status !== "True";
  }

  forget(node: string): void {
    this.#health.delete(node);
  }

  /** After a time in which no node reported, each starts with a full grace period. */
  forgiveAll(): void {
    const at = this.#options.clock.monotonicMs();
    for (const [node, health] of this.#health) {
      this.#health.set(node, { ...health, seenAt: at, changedAt: at });
    }
  }

  async judge(node: WholeNode, signal: AbortSignal): Promise<Look> {
    const { clock, informers, flags, profile } = this.#options;
    const { name } = node.metadata;
    const now = instantOf(clock);
    const lease = profile.nodes.leases
      ? informers.nodeLeases().store.get(nodeLeaseNamespace, name)
      : undefined;
    const before = this.#health.get(name);
    this.#noteFirst(before, node);
    const health = look(before, node, lease?.renewTime, now);
    this.#health.set(name, health);
    const graceMs =
      flags[node.ready === undefined ? "node-startup-grace-period" : "node-monitor-grace-period"];
    const observed = node.ready;
    if (!isLost(health, graceMs, now)) {
      return { node, observed, status: observed?.status ?? "Unknown", health };
    }
    this.#noteMissed(node, elapsedMs(health.seenAt, now.monotonic));
    if (observed?.status !== "Unknown") await this.#writeUnknown(node, now, signal);
    return { node, observed, status: "Unknown", health };
  }

  async #writeUnknown(node: WholeNode, now: Instant, signal: AbortSignal): Promise<void> {
    const { client, profile } = this.#options;
    const { name } = node.metadata;
    const status = {
      ...recordAt(node.raw, "status"),
      conditions: unknownConditions(node, profile.nodes.otherConditions, now),
    };
    const raw = { ...node.raw, apiVersion: "v1", kind: "Node", status };
    await client.request({
      verb: "update",
      method: "PUT",
      path: objectPath(wholeNodeKind, node.metadata, "status"),
      body: raw,
      signal,
    });
    const { ready } = wholeNodeKind.project(raw);
    const health = this.#health.get(name);
    if (health === undefined) return;
    this.#health.set(name, { ...health, ready, changedAt: now.monotonic });
  }

  #noteFirst(before: NodeHealth | undefined, { metadata, ready }: WholeNode): void {
    if (ready === undefined || before?.ready !== undefined) return;
    const type = before === undefined ? "firstSeen" : "firstStatus";
    this.#options.nodeLog.note({ type, node: metadata.name });
  }

  #noteMissed(node: WholeNode, silentMs: number): void {
    const { nodeLog, profile } = this.#options;
    const { name } = node.metadata;
    const conditions = conditionsOf(node);
    for (const type of ["Ready", ...profile.nodes.otherConditions]) {
      const condition = conditions.find((one) => one["type"] === type);
      if (condition !== undefined)
        nodeLog.note({ type: "missed", node: name, silentMs, condition });
      else nodeLog.note({ type: "neverUpdated", node: name, condition: type });
    }
  }
}

function instantOf(clock: Clock): Instant {
  return { monotonic: clock.monotonicMs(), wall: clock.wallMs() };
}
