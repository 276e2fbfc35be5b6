// Which nodes were lost when. A node that is cut off or dead takes its pods with it at once, and the
// API shows them as ready until the controller has waited long enough: only afterwards is it known
// that they had been out of reach since the node was last heard.
import { isRecord, listAt, optionalTime, type RawRecord, recordAt } from "../kube/kinds/fields.ts";
import { requiredName } from "../recording/metadata-text.ts";
import { type Seen, silentMostMs } from "./pod-life.ts";
import { between, type Span } from "./span.ts";

/** One time of a node not being heard from. */
export interface NodeLoss {
  /** When it was last heard, at the earliest, and when the API showed that it was not. */
  readonly at: Span;
  readonly shownMs: number;
  /** When it was well again; undefined when it never was. */
  readonly backMs: number | undefined;
}

export interface NodeFacts {
  readonly name: string;
  /** False while the controller does not; a node that says of itself that it is not well is heard. */
  readonly isHeard: boolean;
  readonly changedMs: number | undefined;
  readonly heardMs: number | undefined;
}

/** Throws `MalformedObjectError`. */
export function readNode(object: RawRecord): NodeFacts {
  const ready = listAt(recordAt(object, "status"), "conditions")
    .filter(isRecord)
    .find((condition) => condition["type"] === "Ready");
  return {
    name: requiredName(recordAt(object, "metadata"), "name"),
    isHeard: ready?.["status"] !== "Unknown",
    changedMs: ready && optionalTime(ready, "lastTransitionTime"),
    heardMs: ready && optionalTime(ready, "lastHeartbeatTime"),
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
    if (!node.isHeard && (last === undefined || last.backMs !== undefined)) {
      const shownMs = seen.isWatched ? seen.atMs : Math.min(node.changedMs ?? seen.atMs, seen.atMs);
      const heardMs = Math.min(node.heardMs ?? node.changedMs ?? shownMs, shownMs);
      const fromMs = Math.max(heardMs, shownMs - silentMostMs);
      losses.push({ at: between(fromMs, shownMs), shownMs, backMs: undefined });
      if (losses.length > lossesPerNodeMax) losses.shift();
    } else if (node.isHeard && last !== undefined && last.backMs === undefined) {
      losses[losses.length - 1] = { ...last, backMs: seen.atMs };
    }
    this.#losses.set(key, losses);
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** The machine is gone for good, whatever its pods show. */
  gone(cluster: string, name: string, seen: Seen): void {
    this.see(cluster, { name, isHeard: false, changedMs: seen.atMs, heardMs: undefined }, seen);
  }

  /** The loss during which an instant lay, or may have lain; undefined when the node was heard. */
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
