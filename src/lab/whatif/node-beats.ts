// The heartbeats of all nodes, as additional writes for the API server: in turn, each node once in the mean
// gap between two of its reports.
import type { KubeClient } from "../../kube/client/client.ts";
import { nodeName } from "./population.ts";
import type { Counts, Settings } from "./question.ts";

export interface NodeBeatsOptions {
  readonly client: KubeClient;
  readonly counts: Pick<Counts, "nodes">;
  readonly settings: Pick<Settings, "heartbeat">;
  /** Calls back after so long. */
  readonly after: (ms: number, callback: () => void) => void;
  /** Of a wall clock, as it is written: `2026-01-01T00:00:00.000000Z`. */
  readonly timeText: () => string;
}

/** Longer than a kubelet waits in any queue of the server. */
const requestDeadlineMs = 24 * 3_600_000;

export class NodeBeats {
  readonly #options: NodeBeatsOptions;
  readonly #posting = new Set<Promise<void>>();
  #isOver = false;
  #next = 0;

  constructor(options: NodeBeatsOptions) {
    this.#options = options;
  }

  start(): void {
    const { counts, settings, after } = this.#options;
    after(1000 / beatsPerSecond(counts, settings), () => {
      if (this.#isOver) return;
      this.#beat();
      this.start();
    });
  }

  /** Resolves when no post is under way. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#posting);
  }

  #beat(): void {
    const { counts, settings, client, timeText } = this.#options;
    const name = nodeName(this.#next % counts.nodes);
    this.#next += 1;
    const byLease = settings.heartbeat.by === "lease";
    const posting = client
      .request({
        verb: "patch",
        method: "PATCH",
        path: byLease ? leasePath(name) : `/api/v1/nodes/${name}/status`,
        contentType: "application/merge-patch+json",
        body: byLease ? { spec: { renewTime: timeText() } } : readyStatus(timeText()),
        deadlineMs: requestDeadlineMs,
      })
      .then(() => undefined)
      .finally(() => this.#posting.delete(posting));
    this.#posting.add(posting);
  }
}

/** Of all nodes together. */
export function beatsPerSecond(
  { nodes }: Pick<Counts, "nodes">,
  { heartbeat }: Pick<Settings, "heartbeat">,
): number {
  return (nodes / (heartbeat.minMs + heartbeat.maxMs)) * 2_000;
}

function leasePath(name: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
}

function readyStatus(lastHeartbeatTime: string): object {
  return { status: { conditions: [{ type: "Ready", status: "True", lastHeartbeatTime }] } };
}
