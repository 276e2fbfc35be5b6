// When nodes were lost. The pods of a lost node fail at once, but the API shows them as ready until
// the node controller's grace period has passed. Afterwards it is known that they were unreachable
// since the last heartbeat of the node.
import { isRecord, listAt, optionalTime, type RawRecord, recordAt } from "../kube/kinds/fields.ts";
import { requiredName } from "../recording/metadata-text.ts";
import { type Seen, silentMostMs } from "./pod-life.ts";
import { between, type Span } from "./span.ts";

/** One interval in which a node did not report. */
export interface NodeLoss {
  /** From the last heartbeat, at the earliest, until the API showed the loss. */
  readonly at: Span;
  readonly shownMs: number;
  /** When it was well again; undefined when it never was. */
  readonly backMs: number | undefined;
}

export interface NodeFacts {
  readonly name: string;
  /**
   * False when the status of Ready is Unknown. A node that reports a problem itself is reachable.
   */
  readonly isReachable: boolean;
  readonly changedMs: number | undefined;
  readonly heartbeatMs: number | undefined;
}

/** Throws `MalformedObjectError`. */
export function readNode(object: RawRecord): NodeFacts {
  const ready = listAt(recordAt(object, "status"), "conditions")
    .filter(isRecord)
    .find((condition) => condition["type"] === "Ready");
  return {
    name: requiredName(recordAt(object, "metadata"), "name"),
    isReachable: ready?.["status"] !== "Unknown",
    changedMs: ready && optionalTime(ready, "lastTransitionTime"),
    heartbeatMs: ready && optionalTime(ready, "lastHeartbeatTime"),
  };
}

/** A cluster of 5,000 nodes that replaces all of them every day, for a month. */
const nodesMax = 150_000;

export class NodeLives {
  /** By cluster and name; nodes beyond the limit are left out and counted. */
  readonly #losses = new Map<string, NodeLoss[]>();
  #dropped = 0;

  see(cluster: string, node: NodeFacts, seen: Seen): void {
    const key = `${cluster} ${node.name}`;
    const known = this.#losses.get(key);
    if (known === undefined && this.#losses.size >= nodesMax) {
      this.#dropped += 1;
      return;
    }
    const losses = known ?? [];
    const last = losses.at(-1);
    if (!node.isReachable && (last === undefined || last.backMs !== undefined)) {
      const shownMs = seen.isWatched ? seen.atMs : Math.min(node.changedMs ?? seen.atMs, seen.atMs);
      const heartbeatMs = Math.min(node.heartbeatMs ?? node.changedMs ?? shownMs, shownMs);
      const fromMs = Math.max(heartbeatMs, shownMs - silentMostMs);
      losses.push({ at: between(fromMs, shownMs), shownMs, backMs: undefined });
      if (losses.length > lossesPerNodeMax) losses.shift();
    } else if (node.isReachable && last !== undefined && last.backMs === undefined) {
      losses[losses.length - 1] = { ...last, backMs: seen.atMs };
    }
    this.#losses.set(key, losses);
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** The machine was removed, even if its pods still look fine. */
  gone(cluster: string, name: string, seen: Seen): void {
    this.see(
      cluster,
      { name, isReachable: false, changedMs: seen.atMs, heartbeatMs: undefined },
      seen,
    );
  }

  /** The loss that an instant is in, or may be in; undefined when the node was reachable. */
  lossAt(cluster: string, node: string, instant: Span): NodeLoss | undefined {
    return this.#losses
      .get(`${cluster} ${node}`)
      ?.findLast(
        ({ at, backMs }) => at.fromMs <= instant.toMs && instant.fromMs < (backMs ?? Infinity),
      );
  }
}

/** A node that flaps every minute is remembered for most of a day. */
const lossesPerNodeMax = 1_000;
