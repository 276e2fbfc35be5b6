// Only for tests: some clusters with a few services each, whose pods come, flap, go and hand on their
// addresses; somebody who publishes them late, somebody who copies that, proxy replicas that route by
// it; and an observer whose every delivery is noted. Everything is drawn from a seed.
import { type Random, randomBetween, randomInt } from "../../environment/random.ts";
import type { Journey } from "../../journeys/journey.ts";
import type { RoutedEndpoint, RoutedWitness } from "../../journeys/routed-witness.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { fixedAccess } from "../../kube/credentials/credentials.ts";
import type { Simulation } from "../../simulation/simulation.ts";
import { Observer } from "../observer.ts";
import { ProofCluster } from "./proof-cluster.contract.ts";
import { TappedClient } from "./tapped-client.contract.ts";
import {
  importedServiceLabel,
  serviceNameLabel,
  sourceClusterLabel,
  type ToldChange,
  ToldEndpoints,
} from "./told-endpoints.contract.ts";

export const observerHost = "lockstep";

/** One observer from its start to its end. */
export interface ProofRun {
  readonly observer: Observer;
  /** By cluster. */
  readonly told: ReadonlyMap<string, ToldEndpoints>;
  readonly startedAt: number;
  readonly over: Journey[];
  /** What the replicas began and ceased to route to. */
  readonly routed: ToldChange[];
  endedAt: number;
}

interface ProofPod {
  readonly cluster: ProofCluster;
  readonly path: string;
  readonly uid: string;
  readonly address: string;
  readonly app: string;
}

interface Replica {
  readonly name: string;
  witness: RoutedWitness | undefined;
  /** By service. */
  readonly routes: Map<string, ReadonlyMap<string, RoutedEndpoint>>;
}

/** The last has no selector: its slices are written by hand. */
const services = ["shop/web", "shop/all", "shop/ext"] as const;
const selectors = { "shop/web": { app: "web" }, "shop/all": { tier: "shop" } } as const;

const publishedLateMs = 5_000;
const copiedLateMs = 3_000;
const routedLateMs = 2_000;

export class ProofWorld {
  readonly clusters: readonly ProofCluster[];
  readonly access: ProofCluster;
  readonly runs: ProofRun[] = [];
  readonly replicas: readonly Replica[];
  readonly #simulation: Simulation;
  readonly #random: Random;
  readonly #pods: ProofPod[] = [];
  readonly #freeAddresses: string[] = [];
  /** By service path, in which of its two slices an endpoint is. */
  readonly #placed = new Map<string, number>();
  readonly #underWay = new Set<Promise<void>>();
  /** Nothing breaks. */
  readonly isCalm: boolean;
  #addresses = 0;

  /** In a calm one nothing breaks; pods come and go all the same. */
  constructor(simulation: Simulation, { isCalm }: { readonly isCalm: boolean }) {
    this.#simulation = simulation;
    this.isCalm = isCalm;
    this.#random = simulation.random;
    const names = ["east", "west", "north"].slice(0, 1 + randomInt(this.#random, 3));
    this.clusters = names.map((name) => new ProofCluster(simulation, name));
    this.access = new ProofCluster(simulation, "access");
    this.replicas = ["r1", "r2"].map((name) => ({ name, witness: undefined, routes: new Map() }));
  }

  get run(): ProofRun {
    const run = this.runs.at(-1);
    if (run === undefined) throw new Error("nobody observes");
    return run;
  }

  async furnish(): Promise<void> {
    for (const cluster of [...this.clusters, this.access]) await cluster.start();
    for (const cluster of this.clusters) {
      for (const service of services) await this.#putService(cluster, service);
      for (let count = 0; count < 2; count += 1) await this.addPod(cluster);
    }
    await this.settled();
  }

  /** Resolves when nothing that was begun is under way any more. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  async observe(): Promise<void> {
    const environment = this.#simulation.host(observerHost);
    const told = new Map<string, ToldEndpoints>();
    const over: Journey[] = [];
    const observed = ({ name }: ProofCluster) => {
      const delivered = new ToldEndpoints(name);
      told.set(name, delivered);
      const access = fixedAccess({ name, server: `https://${name}:6443`, token: "admin" });
      const client = new HttpKubeClient({ ...environment, cluster: access, userAgent: "proof" });
      const tapped = new TappedClient(client, environment.clock, delivered);
      return { cluster: name, client: tapped, form: "endpointslices" } as const;
    };
    const observer = new Observer({
      ...environment,
      clusters: this.clusters.map(observed),
      accessClusters: [observed(this.access)],
      nodes: false,
      onEvent: (event) => {
        if (event.type === "over") over.push(event.journey);
      },
    });
    const startedAt = environment.clock.monotonicMs();
    this.runs.push({ observer, told, startedAt, over, routed: [], endedAt: Infinity });
    observer.start();
    await observer.waitForSync();
    for (const replica of this.replicas) this.#beginReplica(replica);
  }

  async endRun(): Promise<void> {
    const { run } = this;
    run.endedAt = this.#now();
    for (const replica of this.replicas) replica.witness = undefined;
    await run.observer.stop();
  }

  /** Something happens to some pod or service. */
  async act(): Promise<void> {
    const random = this.#random;
    const cluster = this.#any(this.clusters);
    const own = this.#pods.filter((pod) => pod.cluster === cluster);
    const pod = own[randomInt(random, own.length)];
    const chance = random.next();
    if (chance < 0.35 || pod === undefined || own.length < 2) await this.addPod(cluster);
    else if (chance < 0.6) await this.#removePod(pod);
    else if (chance < 0.85) this.#flap(pod);
    else if (chance < 0.9) this.#later(0, () => this.#recreateService(cluster));
    else if (chance < 0.94 || this.isCalm) await this.#publishByHand(cluster);
    else if (chance < 0.96) await cluster.restart();
    else if (chance < 0.98) this.#freeze(cluster);
    else await this.#observeAgain();
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    for (const cluster of [...this.clusters, this.access]) await cluster.server.stop();
  }

  async addPod(cluster: ProofCluster): Promise<void> {
    const uid = cluster.newUid();
    const app = this.#random.next() < 0.7 ? "web" : "db";
    const reused = this.#random.next() < 0.5 ? this.#freeAddresses.shift() : undefined;
    const address = reused ?? this.#newAddress();
    const pod = { cluster, path: `shop/${uid}`, uid, address, app };
    this.#pods.push(pod);
    await this.#putPod(pod, { ready: true });
    this.#publishLater(cluster);
  }

  /** For a while its watch cache follows the storage no more. */
  #freeze({ server }: ProofCluster): void {
    const { cache } = server.faults;
    cache.cacheLagMs = Number.POSITIVE_INFINITY;
    this.#later(randomBetween(this.#random, 1_000, 100_000), async () => {
      cache.cacheLagMs = 0;
    });
  }

  async #observeAgain(): Promise<void> {
    await this.endRun();
    await this.observe();
  }

  async #removePod(pod: ProofPod): Promise<void> {
    this.#pods.splice(this.#pods.indexOf(pod), 1);
    const { cluster, path, address } = pod;
    if (this.#random.next() < 0.5) {
      await this.#putPod(pod, { ready: true, isLeaving: true });
      this.#publishLater(cluster);
      await this.#simulation.sleep(randomBetween(this.#random, 0, 3_000));
    }
    await cluster.delete("pods", path);
    this.#freeAddresses.push(address);
    this.#publishLater(cluster);
  }

  /** Not ready for a while, by itself. */
  #flap(pod: ProofPod): void {
    this.#pods.splice(this.#pods.indexOf(pod), 1);
    this.#later(0, async () => {
      await this.#putPod(pod, { ready: false });
      this.#publishLater(pod.cluster);
      await this.#simulation.sleep(randomBetween(this.#random, 1, 8_000));
      await this.#putPod(pod, { ready: true });
      this.#pods.push(pod);
      this.#publishLater(pod.cluster);
    });
  }

  async #recreateService(cluster: ProofCluster): Promise<void> {
    await cluster.delete("services", "shop/web");
    for (const part of [1, 2]) await cluster.delete("endpointslices", `shop/web-${part}`);
    await this.#simulation.sleep(randomBetween(this.#random, 1, 20_000));
    await this.#putService(cluster, "shop/web");
    this.#publishLater(cluster);
  }

  #putService(cluster: ProofCluster, path: (typeof services)[number]): Promise<void> {
    const selector = path === "shop/ext" ? undefined : selectors[path];
    const ports = [{ name: "http", port: 80, targetPort: 8080 }];
    const metadata = this.#metadata(path, `${cluster.name}-${path}`);
    return cluster.put("services", path, {
      metadata,
      spec: { ports, ...(selector && { selector }) },
    });
  }

  #putPod(
    { cluster, path, uid, address, app }: ProofPod,
    { ready, isLeaving = false }: { readonly ready: boolean; readonly isLeaving?: boolean },
  ): Promise<void> {
    const deletionTimestamp = "2026-01-01T00:00:00Z";
    return cluster.put("pods", path, {
      metadata: {
        ...this.#metadata(path, uid, { app, tier: "shop" }),
        ...(isLeaving && { deletionTimestamp, deletionGracePeriodSeconds: 30 }),
      },
      spec: { nodeName: "n", containers: [{ name: "c", image: "web" }] },
      status: {
        phase: "Running",
        podIP: address,
        podIPs: [{ ip: address }],
        conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
      },
    });
  }

  #publishLater(cluster: ProofCluster): void {
    for (const service of Object.keys(selectors)) {
      this.#later(randomBetween(this.#random, 0, publishedLateMs), () =>
        this.#publish(cluster, service),
      );
    }
  }

  /** Over two slices; what moves from the first to the second is in both for a moment. */
  async #publish(cluster: ProofCluster, service: string): Promise<void> {
    const start = `${cluster.name} ${service} `;
    const parts: [object[], object[]] = [[], []];
    for (const key of cluster.truth.keysAt("pod")) {
      if (!key.startsWith(start)) continue;
      const [, , uid = "", address = ""] = key.split(" ");
      const place = `${service} ${uid}`;
      const part = this.#placed.get(place) ?? randomInt(this.#random, 2);
      const next = part === 0 && this.#random.next() < 0.2 ? 1 : part;
      this.#placed.set(place, next);
      parts[next === 0 ? 0 : 1].push(sliceEndpoint(address, uid));
    }
    await this.#putSlice(cluster, service, 2, parts[1]);
    await this.#putSlice(cluster, service, 1, parts[0]);
    this.#copyLater(cluster, service);
    this.#routeLater();
  }

  async #publishByHand(cluster: ProofCluster): Promise<void> {
    const addresses = [1, 2, 3, 4].filter(() => this.#random.next() < 0.5);
    const number = this.clusters.indexOf(cluster);
    const endpoints = addresses.map((one) => sliceEndpoint(`10.9.${number}.${one}`, undefined));
    await this.#putSlice(cluster, "shop/ext", 1, endpoints);
    this.#routeLater();
  }

  #putSlice(
    cluster: ProofCluster,
    service: string,
    part: number,
    endpoints: readonly object[],
  ): Promise<void> {
    const path = `${service}-${part}`;
    const labels = { [serviceNameLabel]: service.split("/")[1] ?? "" };
    const metadata = this.#metadata(path, `${cluster.name}-${path}`, labels);
    return cluster.put("endpointslices", path, { ...slice(endpoints), metadata });
  }

  #copyLater(cluster: ProofCluster, service: string): void {
    if (service !== "shop/web") return;
    this.#later(randomBetween(this.#random, 0, copiedLateMs), async () => {
      const start = `${cluster.name} ${service} `;
      const keys = [...cluster.truth.keysAt("published")].filter((key) => key.startsWith(start));
      const endpoints = keys.map((key) => {
        const [, , uid, address = ""] = key.split(" ");
        return sliceEndpoint(address, uid);
      });
      const path = `shop/copy-${cluster.name}`;
      const labels = { [sourceClusterLabel]: cluster.name, [importedServiceLabel]: "web" };
      const metadata = this.#metadata(path, path, labels);
      await this.access.put("endpointslices", path, { ...slice(endpoints), metadata });
    });
  }

  #routeLater(): void {
    for (const replica of this.replicas) {
      this.#later(randomBetween(this.#random, 0, routedLateMs), async () => this.#route(replica));
    }
  }

  #beginReplica(replica: Replica): void {
    replica.witness = this.run.observer.replica(replica.name);
    replica.routes.clear();
    const began = new Map(services.map((service) => [service, this.#routesTo(service)]));
    for (const [service, routes] of began) replica.routes.set(service, routes);
    const endpoints = new Map(
      [...began].map(([service, routes]) => [service, [...routes.values()]]),
    );
    replica.witness.began(endpoints, this.#clock());
  }

  #route(replica: Replica): void {
    const { witness, name } = replica;
    if (witness === undefined) return;
    const at = this.#clock();
    for (const service of services) {
      const before = replica.routes.get(service) ?? new Map<string, RoutedEndpoint>();
      const after = this.#routesTo(service);
      const note = (direction: ToldChange["direction"], key: string): void => {
        this.run.routed.push({ hop: "routed", witness: name, key, direction, at, how: "event" });
      };
      for (const key of before.keys()) if (!after.has(key)) note("leave", key);
      for (const key of after.keys()) if (!before.has(key)) note("join", key);
      replica.routes.set(service, after);
      witness.routed(service, [...after.values()], at);
    }
  }

  /** What every cluster has published of it, as a replica without delay would know it. */
  #routesTo(service: string): ReadonlyMap<string, RoutedEndpoint> {
    const routes = new Map<string, RoutedEndpoint>();
    for (const { name: cluster, truth } of this.clusters) {
      for (const key of truth.keysAt("published")) {
        if (!key.startsWith(`${cluster} ${service} `)) continue;
        const [, , uid = "", address = ""] = key.split(" ");
        routes.set(key, { cluster, address, port: 8080, podUid: uid === "" ? undefined : uid });
      }
    }
    return routes;
  }

  #newAddress(): string {
    this.#addresses += 1;
    return `10.1.${this.#addresses >> 8}.${this.#addresses & 255}`;
  }

  #metadata(path: string, uid: string, labels: Readonly<Record<string, string>> = {}) {
    const [namespace, name] = path.split("/");
    return { namespace, name, uid, labels, creationTimestamp: "2026-01-01T00:00:00Z" };
  }

  #later(delayMs: number, act: () => Promise<void>): void {
    const doing = this.#simulation
      .sleep(delayMs)
      .then(act)
      .finally(() => this.#underWay.delete(doing));
    this.#underWay.add(doing);
  }

  #any<T>(of: readonly T[]): T {
    const one = of[randomInt(this.#random, of.length)];
    if (one === undefined) throw new Error("there is none");
    return one;
  }

  #clock() {
    return this.#simulation.host(observerHost).clock.monotonicMs();
  }

  #now(): number {
    return this.#clock();
  }
}

function slice(endpoints: readonly object[]) {
  return { addressType: "IPv4", ports: [{ name: "http", port: 8080 }], endpoints };
}

function sliceEndpoint(address: string, uid: string | undefined): object {
  const shared = { addresses: [address], conditions: { ready: true } };
  return uid === undefined || uid === ""
    ? shared
    : { ...shared, targetRef: { kind: "Pod", namespace: "shop", uid } };
}
