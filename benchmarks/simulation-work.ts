// What goes on in the simulated cluster: nodes that renew their Leases, and a controller that
// writes Endpoints as the real one does, from a queue, by workers, through a limited client.

import { toMicroTime } from "../src/environment/clock.ts";
import type { Environment } from "../src/environment/environment.ts";
import { type KubeClient, parseJson, StatusError } from "../src/kube/client.ts";
import { createLease, type LockVersion, updateLease } from "../src/kube/lease-lock.ts";
import type { LeaderRecord } from "../src/kube/lease-record.ts";
import { RateLimitedClient } from "../src/kube/rate-limited-client.ts";
import { TokenBucket } from "../src/kube/token-bucket.ts";
import { Workqueue } from "../src/kube/workqueue.ts";
import { runWorkers } from "../src/kube/workqueue-workers.ts";
import { endpoints } from "./apiserver-objects.ts";
import { namespace } from "./simulation-cluster.ts";

/** A kubelet's defaults. */
const renewEveryMs = 10_000;
const leaseDurationMs = 40_000;

/** The limits of kube-controller-manager, and its workers on endpoints. */
const qps = 20;
const burst = 30;
const workers = 5;
const maxRetries = 15;

const deadlineMs = 10_000;
const path = `/api/v1/namespaces/${namespace}/endpoints`;

/** Renews a node's Lease until the signal aborts. */
export async function renewLease(
  host: Environment,
  client: KubeClient,
  node: string,
  signal: AbortSignal,
): Promise<void> {
  const lock = { kind: "Lease", namespace: "kube-node-lease", name: node } as const;
  let current: LockVersion | undefined;
  await host.timers.sleep(host.random.next() * renewEveryMs, signal);
  while (!signal.aborted) {
    const record: LeaderRecord = {
      holder: node,
      leaseDurationMs,
      acquireTime: undefined,
      renewTime: toMicroTime(host.clock.wallMs()),
      transitions: 0,
    };
    const limits = { deadlineMs, signal };
    current =
      current === undefined
        ? await createLease(client, lock, record, limits)
        : await updateLease(client, lock, current, record, limits);
    await host.timers.sleep(renewEveryMs, signal);
  }
}

export interface WriterOptions {
  readonly host: Environment;
  readonly client: KubeClient;
  readonly server: string;
  /** Names of the Endpoints it writes. */
  readonly services: readonly string[];
  readonly signal: AbortSignal;
}

/** Writes one Endpoints after the other, as fast as its limits allow. */
export class EndpointsWriter {
  readonly #options: WriterOptions;
  readonly #client: KubeClient;
  readonly #queue: Workqueue;
  /** The newest version of each object that we know of. */
  readonly #known = new Map<string, unknown>();
  #writes = 0;

  constructor(options: WriterOptions) {
    const { host, client, server } = options;
    this.#options = options;
    const bucket = new TokenBucket({ ...host, qps, burst });
    this.#client = new RateLimitedClient({
      ...host,
      client,
      bucket,
      server,
      onThrottled: () => undefined,
    });
    this.#queue = new Workqueue({ ...host, name: "endpoints" });
  }

  /** Writes that succeeded. */
  get writes(): number {
    return this.#writes;
  }

  /** Until the signal aborts: keys come a little faster than they can be written. */
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
    const number = this.#writes;
    const known = this.#known.get(name) ?? (await this.#read(name));
    const { metadata }: { metadata: object } = Object(known);
    const body = { ...endpoints(namespace, name, number), metadata };
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

/** Creates the Endpoints without any limit: the cluster as it is before the run. */
export async function createAll(client: KubeClient, services: readonly string[]): Promise<void> {
  for (const [number, name] of services.entries()) {
    const body = endpoints(namespace, name, number);
    try {
      await client.request({ verb: "create", method: "POST", path, body, deadlineMs });
    } catch (error) {
      if (!(error instanceof StatusError && error.code === 409)) {
        throw error;
      }
    }
  }
}
