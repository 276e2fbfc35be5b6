// The work in the simulated cluster: nodes that renew their Leases, and a controller that writes
// Endpoints as the real one does, from a queue, by workers, through a limited client.
import type { Environment } from "../src/environment/environment.ts";
import { type KubeClient, parseJson } from "../src/kube/client/client.ts";
import { RateLimitedClient } from "../src/kube/client/rate-limited-client.ts";
import { TokenBucket } from "../src/kube/client/token-bucket.ts";
import { isRecord } from "../src/kube/kinds/fields.ts";
import { LeaderLock } from "../src/kube/leader/leader-lock.ts";
import { Workqueue } from "../src/kube/workqueue/workqueue.ts";
import { runWorkers } from "../src/kube/workqueue/workqueue-workers.ts";
import { endpoints } from "./apiserver-objects.ts";

/** A kubelet's defaults. */
const renewEveryMs = 10_000;
const leaseTimes = {
  leaseDurationMs: 40_000,
  renewDeadlineMs: 20_000,
  retryPeriodMs: renewEveryMs,
};

/** The limits of kube-controller-manager, and its workers on endpoints. */
const qps = 20;
const burst = 30;
const workers = 5;
const maxRetries = 15;

const deadlineMs = 10_000;
const namespace = "default";
const path = `/api/v1/namespaces/${namespace}/endpoints`;

/** Renews a node's Lease until the signal aborts; a renewal that fails is left to the next. */
export async function renewLease(
  { clock, timers, random }: Environment,
  client: KubeClient,
  node: string,
  signal: AbortSignal,
): Promise<void> {
  const lock = new LeaderLock({
    client,
    clock,
    lock: { namespace: "kube-node-lease", name: node },
    identity: node,
    ...leaseTimes,
  });
  await timers.sleep(random.next() * renewEveryMs);
  while (!signal.aborted) {
    await lock.tryRenew(signal);
    await timers.sleep(renewEveryMs);
  }
}

export interface WriterOptions {
  readonly host: Environment;
  readonly client: KubeClient;
  /** Names of the Endpoints it writes. */
  readonly services: readonly string[];
  readonly signal: AbortSignal;
}

export class EndpointsWriter {
  readonly #options: WriterOptions;
  readonly #client: KubeClient;
  readonly #queue: Workqueue;
  /** The newest version of each object that we know of; none while a write is under way. */
  readonly #known = new Map<string, unknown>();
  #writes = 0;

  constructor(options: WriterOptions) {
    const { host, client } = options;
    this.#options = options;
    this.#client = new RateLimitedClient({
      ...host,
      client,
      bucket: new TokenBucket({ ...host, qps, burst }),
      server: "https://cluster",
      onThrottled: () => undefined,
    });
    this.#queue = new Workqueue({ ...host, name: "endpoints" });
  }

  /** Writes that succeeded. */
  get writes(): number {
    return this.#writes;
  }

  /** Creates them all, without any limit: the cluster as it is before the run. */
  async createAll(): Promise<void> {
    const { client, services } = this.#options;
    for (const [number, name] of services.entries()) {
      const body = endpoints(namespace, name, number);
      const request = { verb: "create", method: "POST", path, body, deadlineMs } as const;
      this.#known.set(name, parseJson(await client.request(request)));
    }
  }

  /** Until the signal aborts: keys come as fast as they can be written. */
  async run(): Promise<void> {
    const { host, services, signal } = this.#options;
    const working = runWorkers({
      queue: this.#queue,
      workers,
      sync: (name) => this.#sync(name),
      maxRetries,
      log: host.log,
      signal,
    });
    for (let number = 0; !signal.aborted; number += 1) {
      this.#queue.add(services[number % services.length] ?? "");
      await host.timers.sleep(1000 / qps);
    }
    await working;
  }

  async #sync(name: string): Promise<void> {
    const known = this.#known.get(name) ?? (await this.#read(name));
    const metadata = isRecord(known) ? known["metadata"] : undefined;
    const body = { ...endpoints(namespace, name, this.#writes), metadata };
    this.#known.delete(name);
    const request = { verb: "update", method: "PUT", path: `${path}/${name}` } as const;
    const answer = await this.#client.request({ ...request, body, deadlineMs });
    this.#known.set(name, parseJson(answer));
    this.#writes += 1;
  }

  async #read(name: string): Promise<unknown> {
    const request = { verb: "get", method: "GET", path: `${path}/${name}` } as const;
    return parseJson(await this.#client.request({ ...request, deadlineMs }));
  }
}
