// The last sign of life of a node, by the controller's own clock. A sign is a changed heartbeat
// time or a renewed Lease. These times are never compared with the clock, so a kubelet's clock may
// be wrong. Pure.
import {
  elapsedMs,
  type MonotonicMs,
  monotonicAfter,
  toTime,
  type WallMs,
} from "../../../environment/clock.ts";
import type { RawRecord } from "../../../kube/kinds/fields.ts";
import type { NodeReady } from "../../../kube/kinds/node.ts";
import { conditionsOf, type WholeNode } from "./whole-node.ts";

export interface NodeHealth {
  /** When a sign of life was last seen. */
  readonly seenAt: MonotonicMs;
  /** When the Ready condition was last seen to change. */
  readonly changedAt: MonotonicMs;
  /** Of the last status of the node; undefined as long as it has none. */
  readonly ready: NodeReady | undefined;
  readonly renewTime: WallMs | undefined;
}

export interface Instant {
  readonly monotonic: MonotonicMs;
  readonly wall: WallMs;
}

/** The health after a look at the node and its Lease. */
export function look(
  before: NodeHealth | undefined,
  node: WholeNode,
  renewTime: WallMs | undefined,
  now: Instant,
): NodeHealth {
  const health = lookAtStatus(before, node, now);
  const saved = before?.renewTime;
  const isRenewed = renewTime !== undefined && (saved === undefined || saved < renewTime);
  return isRenewed ? { ...health, renewTime, seenAt: now.monotonic } : health;
}

/** Whether the last sign of life is longer ago than this. */
export function isLost(health: NodeHealth, graceMs: number, now: Instant): boolean {
  return elapsedMs(health.seenAt, now.monotonic) > graceMs;
}

/** The node's conditions with Ready and these others Unknown. */
export function unknownConditions(
  node: WholeNode,
  others: readonly string[],
  now: Instant,
): readonly RawRecord[] {
  const types = ["Ready", ...others];
  const conditions = conditionsOf(node);
  const absent = types.filter((type) => conditions.every((one) => one["type"] !== type));
  const lastTransitionTime = toTime(now.wall);
  const { creationTimestamp } = node.metadata;
  return [
    ...conditions.map((condition) =>
      types.includes(String(condition["type"])) && condition["status"] !== "Unknown"
        ? {
            ...condition,
            status: "Unknown",
            reason: "NodeStatusUnknown",
            message: "Kubelet stopped posting node status.",
            lastTransitionTime,
          }
        : condition,
    ),
    ...absent.map((type) => ({
      type,
      status: "Unknown",
      reason: "NodeStatusNeverUpdated",
      message: "Kubelet never posted node status.",
      lastHeartbeatTime: toTime(creationTimestamp ?? now.wall),
      lastTransitionTime,
    })),
  ];
}

function lookAtStatus(
  before: NodeHealth | undefined,
  { ready, metadata }: WholeNode,
  now: Instant,
): NodeHealth {
  if (before === undefined) {
    // A node that never posted is given its time from its creation, by the server's clock.
    const created = metadata.creationTimestamp ?? now.wall;
    const seenAt =
      ready === undefined ? monotonicAfter(now.monotonic, created - now.wall) : now.monotonic;
    return { seenAt, changedAt: seenAt, ready, renewTime: undefined };
  }
  const saved = before.ready;
  if (saved === undefined && ready === undefined) return before;
  const at = now.monotonic;
  if (saved === undefined || ready === undefined) {
    return { seenAt: at, changedAt: at, ready, renewTime: undefined };
  }
  if (saved.lastHeartbeatTime === ready.lastHeartbeatTime) return before;
  const isChanged = saved.lastTransitionTime !== ready.lastTransitionTime;
  // As in the source, a new status forgets the Lease: the next look takes it for renewed.
  return { seenAt: at, changedAt: isChanged ? at : before.changedAt, ready, renewTime: undefined };
}
