// Clusters of the lab in virtual time, an ingress loop that watches them, and an output that
// records each decision. Only the test publishes endpoints, so slices are as late as the test wants
// them.

import { ApiServer } from "../../src/apiserver/api-server.ts";
import { MemoryStorage } from "../../src/apiserver/storage/memory-storage.ts";
import type {
  DecisionChanges,
  DecisionOutput,
  RoutingDecision,
} from "../../src/decide/decision.ts";
import type { Clock } from "../../src/environment/clock.ts";
import type { Processor } from "../../src/environment/processor.ts";
import type { Steps } from "../../src/environment/steps.ts";
import type { Timers } from "../../src/environment/timers.ts";
import { DecisionLog } from "../../src/ingress/decision-log.ts";
import { IngressLoop, type IngressLoopOptions } from "../../src/ingress/ingress-loop.ts";
import { type KubeClient, type KubeRequest, StatusError } from "../../src/kube/client/client.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";
import { WorldProxy } from "./world-proxy.ts";

export interface AppliedDecision {
  readonly atMs: number;
  readonly routes: boolean;
  readonly services: readonly string[];
}

export interface IngressWorld {
  readonly simulation: Simulation;
  readonly loop: IngressLoop;
  readonly applied: AppliedDecision[];
  readonly overrides: DecisionLog;
  readonly clusters: Readonly<Record<"east" | "west", WorldCluster>>;
  /** Gets every decision too. */
  readonly proxy: WorldProxy;
  /** The active endpoints of a service as last decided: `east 10.0.0.1:8080`. */
  readonly active: (service: string) => readonly string[];
  /** Waits until the output gets a new decision. */
  readonly nextApplied: () => Promise<AppliedDecision>;
}

export interface WorldOptions
  extends Partial<Pick<IngressLoopOptions, "policy" | "ports" | "remembered" | "knownBefore">> {
  readonly seed?: number;
  /** A resource, plural, that Lockstep has no permission to read, or which paths. */
  readonly forbidden?: string | ((path: string) => boolean);
  /** Paths that the API server never answers. */
  readonly unanswered?: (path: string) => boolean;
  /** The loop's own clock, made from that of its machine. */
  readonly clock?: (clock: Clock) => Clock;
  /** The loop's own processor; computing costs nothing here without it. */
  readonly processor?: Processor;
  /** How long the loop lets others run in the middle of a computation; computing takes no time here. */
  readonly breathMs?: number;
  /** Prepares the clusters before the loop starts. */
  readonly before?: (
    clusters: IngressWorld["clusters"],
    simulation: Simulation,
  ) => void | Promise<void>;
}

const namespaced = "/api/v1/namespaces/default";

/** The longest test is shorter: one that waits for what never comes fails soon. */
const maxVirtualMs = 10 * 60_000;

/** Long enough for any message of the simulated network to arrive. */
const settleMs = 200;

/** One cluster as its administrator uses it. */
export class WorldCluster {
  readonly server: ApiServer;
  readonly #client: HttpKubeClient;

  constructor(server: ApiServer, client: HttpKubeClient) {
    this.server = server;
    this.#client = client;
  }

  async create(path: string, body: object): Promise<void> {
    await this.#client.request({ verb: "create", method: "POST", path, body });
  }

  async update(path: string, body: object, contentType = "application/merge-patch+json") {
    await this.#client.request({ verb: "patch", method: "PATCH", path, body, contentType });
  }

  async remove(path: string): Promise<void> {
    await this.#client.request({ verb: "delete", method: "DELETE", path });
  }

  async service(name: string, spec: object = {}, annotations: object = {}): Promise<void> {
    const ports = [{ name: "http", port: 80, targetPort: 8080 }];
    const metadata = { name, annotations };
    const body = { metadata, spec: { selector: { app: name }, ports, ...spec } };
    await this.create(`${namespaced}/services`, body);
  }

  /** A pod that runs and is ready. */
  async pod(name: string, app: string, address: string): Promise<void> {
    const containers = [{ name: "c", image: "web:1" }];
    const metadata = { name, labels: { app } };
    await this.create(`${namespaced}/pods`, { metadata, spec: { nodeName: "n1", containers } });
    await this.podStatus(name, { podIP: address, podIPs: [{ ip: address }] }, "True");
  }

  async podStatus(name: string, fields: object, ready: "True" | "False"): Promise<void> {
    const conditions = [{ type: "Ready", status: ready }];
    const status = { phase: "Running", conditions, ...fields };
    await this.update(`${namespaced}/pods/${name}/status`, { status });
  }

  /** Begins the pod's termination; without a grace period it is gone at once. */
  async deletePod(name: string, options: { readonly graceSeconds?: number } = {}): Promise<void> {
    const path = `${namespaced}/pods/${name}`;
    const { graceSeconds = 30 } = options;
    const body = { gracePeriodSeconds: graceSeconds };
    await this.#client.request({ verb: "delete", method: "DELETE", path, body });
  }

  async namespace(name: string): Promise<void> {
    await this.create("/api/v1/namespaces", { metadata: { name } });
  }

  /** Its contents stay, because nothing empties namespaces here. */
  async deleteNamespace(name: string): Promise<void> {
    const path = `/api/v1/namespaces/${name}`;
    await this.#client.request({ verb: "delete", method: "DELETE", path });
  }

  /** Publishes these pods, by name and address, as ready; the uids are those of the pods. */
  async slice(service: string, pods: Readonly<Record<string, string>>): Promise<void> {
    const endpoints = await Promise.all(
      Object.entries(pods).map(async ([name, address]) => ({
        addresses: [address],
        conditions: { ready: true },
        targetRef: await this.reference(name),
      })),
    );
    await this.create("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
      metadata: { name: `${service}-x`, labels: { "kubernetes.io/service-name": service } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080 }],
      endpoints,
    });
  }

  async ingress(name: string, host: string, service: string): Promise<void> {
    const backend = { service: { name: service, port: { number: 80 } } };
    const rules = [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }];
    await this.create("/apis/networking.k8s.io/v1/namespaces/default/ingresses", {
      metadata: { name },
      spec: { ingressClassName: "lockstep", rules },
    });
  }

  /** A slice's reference to a pod. */
  async reference(name: string): Promise<object> {
    return { kind: "Pod", namespace: "default", name, uid: await this.#uidOf(name) };
  }

  async #uidOf(name: string): Promise<string> {
    const path = `${namespaced}/pods/${name}`;
    const { body } = await this.#client.request({ verb: "get", method: "GET", path });
    return JSON.parse(body.toString("utf8")).metadata.uid;
  }
}

export function inIngressWorld(
  run: (world: IngressWorld) => Promise<void>,
  options: WorldOptions = {},
): Promise<void> {
  return simulate({ seed: options.seed ?? 1, maxVirtualMs }, async (simulation) => {
    const clusters = {
      east: await startCluster(simulation, "east"),
      west: await startCluster(simulation, "west"),
    };
    await options.before?.(clusters, simulation);
    const host = simulation.host("lockstep");
    const applied: AppliedDecision[] = [];
    const overrides = new DecisionLog(host);
    const proxy = new WorldProxy(simulation);
    await proxy.start();
    const output = new RecordingOutput(simulation, applied, proxy.pusher);
    const client = (name: string) =>
      withoutAnswer(
        withoutPermission(clientOf(simulation, name), options.forbidden),
        options.unanswered,
      );
    const loop = new IngressLoop({
      ...host,
      clock: options.clock?.(host.clock) ?? host.clock,
      processor: options.processor ?? host.processor,
      timers: slowly(host.timers, options.breathMs ?? 0),
      clusters: ["east", "west"].map((name) => ({ name, client: client(name) })),
      access: { name: "east", client: client("east") },
      className: "lockstep",
      policy: options.policy ?? { followSlices: false },
      ...(options.ports === undefined ? {} : { ports: options.ports }),
      ...(options.remembered === undefined ? {} : { remembered: options.remembered }),
      ...(options.knownBefore === undefined ? {} : { knownBefore: options.knownBefore }),
      output,
      proxy: proxy.pusher,
      onTruth: overrides.note,
    });
    const stop = new AbortController();
    const running = loop.run(stop.signal);
    await simulation.sleep(settleMs);
    const active = (service: string) => output.active(service);
    const nextApplied = () => output.next();
    await run({ simulation, loop, applied, overrides, clusters, proxy, active, nextApplied });
    stop.abort(new Error("the test is over"));
    await running;
    await proxy.stop();
    for (const { server } of Object.values(clusters)) await server.stop();
  });
}

function slowly(timers: Timers, breathMs: number): Timers {
  return {
    after: (delayMs, callback) => timers.after(delayMs, callback),
    sleep: (delayMs, signal) => timers.sleep(delayMs, signal),
    breathe: () => timers.sleep(breathMs),
  };
}

class RecordingOutput implements DecisionOutput {
  readonly #simulation: Simulation;
  readonly #applied: AppliedDecision[];
  readonly #next: DecisionOutput;
  readonly #waiters: ((applied: AppliedDecision) => void)[] = [];
  #decision: RoutingDecision = { hosts: new Map(), services: new Map() };

  constructor(simulation: Simulation, applied: AppliedDecision[], next: DecisionOutput) {
    this.#simulation = simulation;
    this.#applied = applied;
    this.#next = next;
  }

  *applying(decision: RoutingDecision, changes: DecisionChanges): Steps<void> {
    const { routes, services } = changes;
    yield* this.#next.applying(decision, changes);
    this.#decision = decision;
    const applied = { atMs: this.#simulation.now(), routes, services: [...services.keys()] };
    this.#applied.push(applied);
    for (const waiter of this.#waiters.splice(0)) waiter(applied);
  }

  active(service: string): readonly string[] {
    const endpoints = this.#decision.services.get(service) ?? [];
    return endpoints
      .filter(({ state }) => state === "active")
      .map(({ cluster, address, port }) => `${cluster} ${address}:${port}`);
  }

  next(): Promise<AppliedDecision> {
    return new Promise((resolve) => void this.#waiters.push(resolve));
  }
}

async function startCluster(simulation: Simulation, name: string): Promise<WorldCluster> {
  const host = `api-${name}`;
  const environment = simulation.host(host);
  const server = new ApiServer({
    ...environment,
    storage: new MemoryStorage(environment),
    name,
    gitVersion: "v1.33.1",
    authentication: { tokens: new Map([["token", { name: "admin", groups: [] }]]) },
  });
  await server.start({ host, port: 6443 });
  return new WorldCluster(server, clientOf(simulation, name, "admin"));
}

/** The lab's API server allows everything, so its refusal is imitated here. */
function withoutPermission(client: KubeClient, forbidden: WorldOptions["forbidden"]): KubeClient {
  const check = ({ path }: KubeRequest): void => {
    const resource = /\/([a-z]+)(\?|$)/.exec(path)?.[1];
    const isRefused =
      typeof forbidden === "function"
        ? forbidden(path)
        : resource !== undefined && resource === forbidden;
    if (!isRefused) return;
    const message = `${resource ?? path} is forbidden`;
    throw new StatusError({ code: 403, reason: "Forbidden", message });
  };
  return {
    request: async (request) => {
      check(request);
      return client.request(request);
    },
    stream: async (request) => {
      check(request);
      return client.stream(request);
    },
  };
}

function withoutAnswer(client: KubeClient, unanswered: WorldOptions["unanswered"]): KubeClient {
  if (unanswered === undefined) return client;
  const wait = ({ path, signal }: KubeRequest): Promise<never> | undefined =>
    unanswered(path)
      ? new Promise((_, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
        })
      : undefined;
  return {
    request: async (request) => (await wait(request)) ?? client.request(request),
    stream: async (request) => (await wait(request)) ?? client.stream(request),
  };
}

function clientOf(simulation: Simulation, name: string, machine = "lockstep"): HttpKubeClient {
  const cluster = fixedAccess({ name, server: `http://api-${name}:6443`, token: "token" });
  return new HttpKubeClient({ ...simulation.host(machine), cluster, userAgent: machine });
}
