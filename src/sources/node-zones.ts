// The zone of each node of a cluster, by the node's label. Slices have the zone too, but later than a
// pod is ready.
import type { Registry } from "prom-client";
import type { Environment } from "../environment/environment.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type Node, nodeKind } from "../kube/kinds/node.ts";
import { Reflector } from "../kube/reflector/reflector.ts";
import { watchStatus } from "./watch-status.ts";

export interface NodeZonesOptions extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  /** Called when a known node is in another zone than before. */
  readonly onZones: () => void;
  readonly metrics?: Registry;
}

const zoneLabel = "topology.kubernetes.io/zone";

/** The label of servers before 1.17. */
const formerZoneLabel = "failure-domain.beta.kubernetes.io/zone";

export class NodeZones {
  readonly #nodes: Reflector<Node>;

  constructor(options: NodeZonesOptions) {
    this.#nodes = new Reflector({
      ...options,
      kind: nodeKind,
      indexes: {},
      handlers: [
        (change) => {
          if (change.type !== "updated") return;
          if (zoneIn(change.previous) !== zoneIn(change.object)) options.onZones();
        },
      ],
    });
  }

  /** Whether the nodes have been listed, or may not be. */
  get isSettled(): boolean {
    return this.#nodes.synced || watchStatus(this.#nodes).state === "refused";
  }

  zoneOf(node: string): string | undefined {
    const found = this.#nodes.store.get("", node);
    return found === undefined ? undefined : zoneIn(found);
  }

  start(): void {
    this.#nodes.start();
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    await this.#nodes.stop();
  }
}

function zoneIn({ metadata: { labels } }: Node): string | undefined {
  return labels[zoneLabel] ?? labels[formerZoneLabel];
}
