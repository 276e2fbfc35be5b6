// Fixtures for tests of leader election: a small API server with just the semantics that matter
// (compare and swap by resourceVersion, quorum reads of pods), and replicas that compete, lead and
// write, on simulated machines. The actions of a replica are recorded below its client, where
// requests leave the machine.
import type { Environment } from "../../src/environment/environment.ts";
import type { IncomingRequest, Network, OutgoingRequest } from "../../src/environment/network.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { RateLimitedClient } from "../../src/kube/client/rate-limited-client.ts";
import { TokenBucket } from "../../src/kube/client/token-bucket.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import {
  LeaderElection,
  type LeaderElectionOptions,
} from "../../src/kube/leader/leader-election.ts";
import { podIdentity } from "../../src/kube/leader/leader-identity.ts";
import { defaultElectionTimes } from "../../src/kube/leader/leader-rules.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";

export const testLock = { kind: "Lease", namespace: "lockstep", name: "leader" } as const;
const leasePath = "/apis/coordination.k8s.io/v1/namespaces/lockstep/leases";
const writePath = "/api/v1/namespaces/lockstep/configmaps/status";

interface StoredLease {
  readonly metadata: { readonly resourceVersion: string };
  readonly spec: { readonly holderIdentity: string };
}

/** Pods and one Lease. */
export class LeaseServer {
  readonly address = "http://api:80";
  /** Uids by pod name, all in the lock's namespace. */
  readonly pods = new Map<string, string>();
  podsAreForbidden = false;
  lease: StoredLease | undefined;
  /** Every request, as `METHOD path`. */
  readonly requests: string[] = [];
  #revision = 0;

  async listen(environment: Environment): Promise<void> {
    await environment.network.listen({ host: "api", port: 80 }, async (exchange) => {
      const body = await readBody(exchange.request.body);
      const { code, answer } = this.#answer(exchange.request, body);
      exchange
        .respond(code, { "content-type": "application/json" })
        .end(Buffer.from(JSON.stringify(answer)));
    });
  }

  /** The effect of kubectl edit. */
  edit(holderIdentity: string): void {
    if (this.lease === undefined) return;
    const { metadata, spec } = this.lease;
    const edited = { ...this.lease, metadata, spec: { ...spec, holderIdentity } };
    this.#store(JSON.stringify(edited));
  }

  #answer({ method, target }: IncomingRequest, body: string): { code: number; answer: unknown } {
    const url = new URL(target, this.address);
    this.requests.push(`${method} ${url.pathname}`);
    if (url.pathname.endsWith("/pods")) return this.#listPods(url);
    if (url.pathname === writePath) return { code: 200, answer: {} };
    if (!url.pathname.startsWith(leasePath)) return refusal(404, "NotFound");
    if (method === "GET") return this.lease === undefined ? missing : found(this.lease);
    return method === "POST" ? this.#create(body) : this.#update(body);
  }

  #listPods(url: URL): { code: number; answer: unknown } {
    if (this.podsAreForbidden) return refusal(403, "Forbidden");
    const name = url.searchParams.get("fieldSelector")?.replace("metadata.name=", "") ?? "";
    const uid = this.pods.get(name);
    return found({ items: uid === undefined ? [] : [{ metadata: { name, uid } }] });
  }

  #create(body: string): { code: number; answer: unknown } {
    return this.lease === undefined ? this.#store(body) : refusal(409, "AlreadyExists");
  }

  #update(body: string): { code: number; answer: unknown } {
    if (this.lease === undefined) return missing;
    const { metadata }: StoredLease = JSON.parse(body);
    if (metadata.resourceVersion !== this.lease.metadata.resourceVersion) {
      return refusal(409, "Conflict");
    }
    return this.#store(body);
  }

  #store(body: string): { code: number; answer: unknown } {
    const lease: StoredLease = JSON.parse(body);
    this.#revision += 1;
    const resourceVersion = String(this.#revision);
    this.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion } };
    return found(this.lease);
  }
}

/** From the start of leading to its end, in virtual time. */
export interface Reign {
  readonly replica: string;
  readonly from: number;
  to: number;
}

/** The actions of all replicas. */
export interface History {
  readonly reigns: Reign[];
  /** Leader's writes that left a machine. */
  writes: number;
  /** Of those, the ones that left after the renew deadline. */
  readonly lateWrites: string[];
}

export interface ReplicaOptions {
  readonly simulation: Simulation;
  readonly server: LeaseServer;
  readonly name: string;
  readonly uid: string;
  readonly history: History;
  readonly election?: Partial<LeaderElectionOptions>;
}

/** One life of a replica, from its start to its stop or crash. */
export class Replica {
  readonly identity: string;
  readonly election: LeaderElection;
  readonly client: KubeClient;
  readonly environment: Environment;
  readonly #options: ReplicaOptions;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  /** When the last renewal that succeeded was sent. */
  #renewSentAt = Number.NEGATIVE_INFINITY;
  #reign: Reign | undefined;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.environment = options.simulation.host(options.name);
    this.identity = podIdentity(options.name, options.uid);
    this.client = this.#clientOver(this.#watched(this.environment.network));
    const { clock, timers, random, log } = this.environment;
    this.election = new LeaderElection({
      ...defaultElectionTimes,
      client: this.client,
      clock,
      timers,
      random,
      log,
      lock: testLock,
      identity: this.identity,
      releaseOnStop: true,
      onStartedLeading: (signal) => this.#lead(signal),
      ...options.election,
    });
    this.#running = this.election.run(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  crash(options: { readonly vanish: boolean }): void {
    this.#endReign();
    this.#options.simulation.crash(this.#options.name, options);
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { simulation, name, history } = this.#options;
    this.#reign = { replica: name, from: simulation.now(), to: Number.POSITIVE_INFINITY };
    history.reigns.push(this.#reign);
    signal.addEventListener("abort", () => this.#endReign(), { once: true });
    const { clock, timers, random } = this.environment;
    const client = new RateLimitedClient({
      client: this.#clientOver(this.election.fence.guard(this.#watched(this.environment.network))),
      bucket: new TokenBucket({ clock, timers, qps: 0.5, burst: 1 }),
      clock,
      server: "http://api:80",
      onThrottled: () => undefined,
    });
    while (!signal.aborted) {
      const write = this.election.fence.runIfLeading((leading) =>
        client.request({
          verb: "update",
          method: "PUT",
          path: writePath,
          body: {},
          signal: leading,
        }),
      );
      // A write may fail in any way here; only the time at which it leaves the machine counts.
      write.catch(() => undefined);
      await timers.sleep(100 + 3_000 * random.next(), signal).catch(() => undefined);
    }
  }

  #endReign(): void {
    if (this.#reign !== undefined) this.#reign.to = this.#options.simulation.now();
    this.#reign = undefined;
  }

  #clientOver(network: Network): KubeClient {
    const { clock, timers, log } = this.environment;
    const cluster = fixedAccess({ name: "test", server: this.#options.server.address });
    return new HttpKubeClient({ network, clock, timers, cluster, userAgent: "test", log });
  }

  /** Notes what leaves the machine, and when. */
  #watched(network: Network): Network {
    const { simulation, history, name } = this.#options;
    return {
      listen: (options, handler) => network.listen(options, handler),
      request: async (request: OutgoingRequest) => {
        const sentAt = simulation.now();
        if (request.url.endsWith(writePath)) {
          history.writes += 1;
          const lateMs = sentAt - this.#renewSentAt - defaultElectionTimes.renewDeadlineMs;
          if (!(lateMs < 0)) history.lateWrites.push(`${name} at ${sentAt}, ${lateMs} ms late`);
        }
        const response = await network.request(request);
        if (request.body instanceof Uint8Array && request.url.includes(leasePath)) {
          const { spec }: StoredLease = JSON.parse(Buffer.from(request.body).toString("utf8"));
          const isOurs = response.status === 200 && spec.holderIdentity === this.identity;
          if (isOurs) this.#renewSentAt = sentAt;
        }
        return response;
      },
    };
  }
}

const missing = refusal(404, "NotFound");

function found(answer: unknown): { code: number; answer: unknown } {
  return { code: 200, answer };
}

function refusal(code: number, reason: string): { code: number; answer: unknown } {
  return { code, answer: { kind: "Status", status: "Failure", code, reason, message: reason } };
}

async function readBody(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
