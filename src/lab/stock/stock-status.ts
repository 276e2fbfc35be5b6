// The status that the stock leader writes (internal/ingress/status/status.go): at once when it begins
// to lead and then every 60 s, the addresses of the nodes on which pods with *its own* labels run.
// The labels were read when it started, and hold the hash of its revision: a leader whose revision
// has been replaced finds no pod and writes an empty status, as often as there is one to empty.

import type { Klog } from "../../components/klog.ts";
import type { Environment } from "../../environment/environment.ts";
import { type KubeClient, parseJson } from "../../kube/client/client.ts";
import type { Ingress, LoadBalancerAddress } from "../../kube/kinds/ingress.ts";
import { ingressKind } from "../../kube/kinds/ingress.ts";
import { objectPath } from "../../kube/kinds/kind.ts";
import { objectRecord } from "../../kube/kinds/metadata.ts";
import { Workqueue } from "../../kube/workqueue/workqueue.ts";
import { runWorkers } from "../../kube/workqueue/workqueue-workers.ts";
import { ingressNginx } from "./ingress-nginx.ts";
import { runningAddresses, runningPods, type StockPublishing } from "./stock-addresses.ts";
import type { StockPod } from "./stock-pod.ts";
import type { StockRelease } from "./stock-release.ts";

export interface StockStatusOptions extends Pick<Environment, "clock" | "timers" | "log"> {
  readonly client: KubeClient;
  readonly pod: StockPod;
  readonly release: StockRelease;
  readonly klog: Klog;
  readonly publishing: StockPublishing;
  readonly intervalMs: number;
  /** The Ingresses it serves, as its informer has them. */
  readonly ingresses: () => readonly Ingress[];
}

/** The only key of the queue: every sync is of everything. */
const everything = "sync status";

const requestDeadlineMs = 30_000;

export class StockStatus {
  readonly #options: StockStatusOptions;

  constructor(options: StockStatusOptions) {
    this.#options = options;
  }

  /** Run in status.go: syncs now and every interval, until the signal aborts. */
  async run(leading: AbortSignal): Promise<void> {
    const { clock, timers, log, intervalMs } = this.#options;
    const queue = new Workqueue({ clock, timers, name: "stock-status" });
    queue.add(everything);
    const again = (): void => {
      queue.add(everything);
      cancel = timers.after(intervalMs, again);
    };
    let cancel = timers.after(intervalMs, again);
    const maxRetries = Number.POSITIVE_INFINITY;
    const sync = () => this.#sync(leading);
    try {
      await runWorkers({ queue, workers: 1, sync, maxRetries, log, signal: leading });
    } finally {
      cancel();
      queue.shutDown();
    }
  }

  /** Shutdown in status.go: any replica that ends cleanly, leader or not, empties what is its last. */
  async shutDown(): Promise<void> {
    const { client, pod, release, klog } = this.#options;
    const addresses = await this.#addresses();
    if (addresses.length > 1) {
      klog.write(...release.lines.leavingToNext(addresses.length));
      return;
    }
    if ((await runningPods(client, pod)).length > 1) return;
    klog.write(...release.lines.removing(addresses));
    await this.#update([]);
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const addresses = await this.#addresses();
    if (!signal.aborted) await this.#update(addresses);
  }

  async #addresses(): Promise<readonly LoadBalancerAddress[]> {
    const { client, pod, release, publishing } = this.#options;
    return sorted(await runningAddresses(client, { pod, release, publishing }));
  }

  /** updateStatus in status.go. */
  async #update(addresses: readonly LoadBalancerAddress[]): Promise<void> {
    const waiting = this.#options
      .ingresses()
      .filter(({ loadBalancer }) => !isSame(sorted(loadBalancer), addresses));
    const writers = Array.from({ length: ingressNginx.statusWriters }, async () => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        await this.#updateOne(next, addresses);
      }
    });
    await Promise.all(writers);
  }

  /** runUpdate in status.go: what fails is logged, and is tried again at the next sync. */
  async #updateOne(
    { metadata }: Ingress,
    addresses: readonly LoadBalancerAddress[],
  ): Promise<void> {
    const { client, release, klog } = this.#options;
    const limits = { deadlineMs: requestDeadlineMs };
    const read = { verb: "get", method: "GET", path: objectPath(ingressKind, metadata) } as const;
    try {
      const object = objectRecord(parseJson(await client.request({ ...read, ...limits })));
      const from = ingressKind.project(object).loadBalancer;
      const { namespace, name } = metadata;
      klog.write(...release.lines.updating({ namespace, name, from, to: addresses }));
      await client.request({
        verb: "update",
        method: "PUT",
        path: objectPath(ingressKind, metadata, "status"),
        body: { ...object, status: { loadBalancer: { ingress: addresses.map(written) } } },
        ...limits,
      });
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      klog.write(...release.lines.updateFailed(text));
    }
  }
}

/** lessLoadBalancerIngress in status.go. */
function sorted(addresses: readonly LoadBalancerAddress[]): readonly LoadBalancerAddress[] {
  const key = ({ ip, hostname }: LoadBalancerAddress) => `${hostname} ${ip}`;
  return [...addresses].sort((left, right) => (key(left) < key(right) ? -1 : 1));
}

function isSame(
  left: readonly LoadBalancerAddress[],
  right: readonly LoadBalancerAddress[],
): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function written({ ip, hostname }: LoadBalancerAddress): object {
  return { ...(ip !== "" && { ip }), ...(hostname !== "" && { hostname }) };
}
