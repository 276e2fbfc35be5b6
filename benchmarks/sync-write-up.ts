// The approach of the write-up, in virtual time: it watches Endpoints in one cluster and writes Endpoints
// in the other, first in, first out, with one client at the default limits of client-go. At the start
// both clusters are equal, and it is not restarted and has no resync: those would only add to it.
import { Registry } from "prom-client";
import { ApiServer } from "../src/apiserver/api-server.ts";
import { MemoryStorage } from "../src/apiserver/storage/memory-storage.ts";
import { elapsedMs, type MonotonicMs } from "../src/environment/clock.ts";
import type { Environment } from "../src/environment/environment.ts";
import type { KubeClient } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { RateLimitedClient } from "../src/kube/client/rate-limited-client.ts";
import { TokenBucket } from "../src/kube/client/token-bucket.ts";
import { fixedAccess } from "../src/kube/credentials/credentials.ts";
import { type Endpoints, endpointsKind } from "../src/kube/kinds/endpoints.ts";
import { Reflector } from "../src/kube/reflector/reflector.ts";
import { Workqueue } from "../src/kube/workqueue/workqueue.ts";
import { runWorkers } from "../src/kube/workqueue/workqueue-workers.ts";
import { type Simulation, simulate } from "../src/simulation/simulation.ts";
import { endpoints } from "./apiserver-objects.ts";
import { type Figures, percentile, plain } from "./benchmark.ts";

export interface WriteUpPlan {
  readonly services: number;
  readonly changesPerSecond: number;
  readonly minutes: number;
}

/** Of client-go, for one client. */
const qps = 20;
const burst = 30;
const workers = 5;
const maxRetries = 15;

const namespace = "default";
const path = `/api/v1/namespaces/${namespace}/endpoints`;
const port = 6443;
const token = "admin-token";
const deadlineMs = 30_000;

/** Steps that meet every service once before any comes again, and no neighbours in a row. */
const stride = 7_919;

export async function writeUpFigures(plan: WriteUpPlan): Promise<Figures> {
  const { services, changesPerSecond, minutes } = plan;
  const note = `virtual time, ${services} services, ${changesPerSecond} changes a second`;
  return await simulate({ seed: 1 }, async (simulation) => {
    const business = await startServer(simulation, "business", services);
    const access = await startServer(simulation, "access", services);
    const copier = new Copier(simulation.host("copier"), { business, access });
    await copier.start();
    const clock = simulation.host("copier").clock;
    const client = clientOf(simulation.host("person"), business);
    const changes = minutes * 60 * changesPerSecond;
    const startedAt = clock.monotonicMs();
    for (let number = 0; number < changes; number += 1) {
      const dueMs = (number * 1000) / changesPerSecond;
      await simulation.sleep(Math.max(0, dueMs - elapsedMs(startedAt, clock.monotonicMs())));
      await change(client, nameOf((number * stride) % services), number);
    }
    const { lagsMs, backlog, oldestMs, writes } = copier.result();
    await copier.stop();
    for (const { server } of [business, access]) await server.stop();
    return {
      writeUpP50Ms: plain(percentile(lagsMs, 0.5), "ms", `${note}; of copied changes`),
      writeUpP99Ms: plain(percentile(lagsMs, 0.99), "ms", `${note}; of copied changes`),
      writeUpBacklog: plain(backlog, "changes", `not copied after ${minutes} minutes`),
      writeUpOldestMs: plain(oldestMs, "ms", "age of the oldest of them"),
      writeUpWrites: plain(
        writes,
        "writes",
        `of ${changes} changes; several of a service make one`,
      ),
    };
  });
}

interface Server {
  readonly name: string;
  readonly server: ApiServer;
}

class Copier {
  readonly #host: Environment;
  readonly #client: KubeClient;
  readonly #queue: Workqueue;
  readonly #reflector: Reflector<Endpoints>;
  readonly #stopping = new AbortController();
  /** By service, when the changes were received that no write has taken yet. */
  readonly #open = new Map<string, MonotonicMs[]>();
  readonly #lagsMs: number[] = [];
  #writes = 0;
  #working: Promise<void> | undefined;

  constructor(
    host: Environment,
    { business, access }: { readonly business: Server; readonly access: Server },
  ) {
    this.#host = host;
    this.#client = new RateLimitedClient({
      ...host,
      client: clientOf(host, access),
      bucket: new TokenBucket({ ...host, qps, burst }),
      onThrottled: () => undefined,
    });
    this.#queue = new Workqueue({ ...host, name: "endpoints" });
    this.#reflector = new Reflector({
      ...host,
      kind: endpointsKind,
      client: clientOf(host, business),
      cluster: "business",
      indexes: {},
      handlers: [
        ({ type, object }) => {
          if (type === "updated") this.#changed(object.metadata.name);
        },
      ],
      metrics: new Registry(),
    });
  }

  async start(): Promise<void> {
    this.#reflector.start();
    await this.#reflector.waitForSync();
    this.#working = runWorkers({
      queue: this.#queue,
      workers,
      sync: (name) => this.#write(name),
      maxRetries,
      log: this.#host.log,
      signal: this.#stopping.signal,
    });
  }

  result() {
    const now = this.#host.clock.monotonicMs();
    const open = [...this.#open.values()].flat().map((at) => elapsedMs(at, now));
    return {
      lagsMs: this.#lagsMs,
      backlog: open.length,
      oldestMs: open.reduce((oldest, one) => Math.max(oldest, one), 0),
      writes: this.#writes,
    };
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the run is over"));
    await this.#working;
    await this.#reflector.stop();
  }

  #changed(name: string): void {
    this.#open.set(name, [...(this.#open.get(name) ?? []), this.#host.clock.monotonicMs()]);
    this.#queue.add(name);
  }

  async #write(name: string): Promise<void> {
    const received = this.#open.get(name) ?? [];
    this.#open.delete(name);
    const subsets = this.#reflector.store.get(namespace, name)?.subsets;
    const request = {
      verb: "patch",
      method: "PATCH",
      path: `${path}/${name}`,
      deadlineMs,
    } as const;
    const contentType = "application/merge-patch+json";
    await this.#client.request({ ...request, contentType, body: { subsets } });
    const now = this.#host.clock.monotonicMs();
    this.#lagsMs.push(...received.map((at) => elapsedMs(at, now)));
    this.#writes += 1;
  }
}

/** With all Endpoints. */
async function startServer(
  simulation: Simulation,
  name: string,
  services: number,
): Promise<Server> {
  const host = simulation.host(name);
  const server = new ApiServer({
    ...host,
    storage: new MemoryStorage(host),
    name,
    gitVersion: "v1.33.1",
    authentication: { tokens: new Map([[token, { name: "admin", groups: ["system:masters"] }]]) },
    metrics: new Registry(),
  });
  await server.start({ host: name, port });
  const client = clientOf(simulation.host("person"), { name, server });
  for (let number = 0; number < services; number += 1) {
    const body = endpoints(namespace, nameOf(number), number);
    await client.request({ verb: "create", method: "POST", path, body, deadlineMs });
  }
  return { name, server };
}

function clientOf(host: Environment, { name }: Server): KubeClient {
  const cluster = fixedAccess({ name, server: `https://${name}:${port}`, token });
  return new HttpKubeClient({ ...host, cluster, userAgent: "lockstep-bench" });
}

/** Other addresses for one service. */
async function change(client: KubeClient, name: string, number: number): Promise<void> {
  const body = { ...endpoints(namespace, name, number + 1), metadata: {} };
  const request = { verb: "patch", method: "PATCH", path: `${path}/${name}`, deadlineMs } as const;
  await client.request({ ...request, contentType: "application/merge-patch+json", body });
}

function nameOf(number: number): string {
  return `service-${number + 1}`;
}
