// Two clusters, Lockstep and its proxy in front of them, and a client that never stops, in virtual
// time from one seed. A fault plan causes all events, and each is judged as it happens. The events
// are kept, so that a failing seed can be read.
import { type DecidedEndpoint, isRouted } from "../../src/decide/decision.ts";
import { NetworkError } from "../../src/environment/network.ts";
import { randomBetween } from "../../src/environment/random.ts";
import type { TruthChange } from "../../src/ingress/decisions.ts";
import { DeadlineExceededError, StatusError } from "../../src/kube/client/client.ts";
import { Ledger } from "../../src/lab/kubelet/ledger.ts";
import { applyFaultPlan, printFaultPlan } from "../../src/simulation/faults.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";
import type { PodRecord } from "./pod-records.ts";
import { type OnTerm, SoakCluster } from "./soak-cluster.ts";
import { Disturbances, type Effect } from "./soak-disturbances.ts";
import { keyOf, recoveredMs } from "./soak-facts.ts";
import { SoakIngress, type SoakProgram } from "./soak-ingress.ts";
import { SoakJudge } from "./soak-judge.ts";
import { drawPlan, quietAfterMs, type SoakTheme } from "./soak-plan.ts";
import { patienceMs, SoakTraffic } from "./soak-traffic.ts";
import { SoakWatches } from "./soak-watches.ts";

export interface Shop {
  readonly cluster: SoakCluster;
  readonly service: string;
}

/** Before anything goes wrong: pods start, endpoints are published, Lockstep lists. */
const settleMs = 5_000;

/**
 * The last disturbance is over, and what it left has been noticed by node controller and probes; and
 * a watch that came back in a cluster where nothing happens was proved current, by a bookmark.
 */
const bookmarkEveryMs = 60_000;
const calmMs = recoveredMs + bookmarkEveryMs + 10_000;

/** Between two requests, on average: while things go wrong, and after that. */
const meanBetweenRequestsMs = { wild: 2_500, calm: 8_000 } as const;

const services = ["web", "api"] as const;

/** The counters of one run, to check that it was not idle. */
export interface SoakCounts {
  readonly tries: number;
  readonly unreached: number;
  readonly answers: ReadonlyMap<string, number>;
}

/** Throws with the plan, the violations and what happened when something that must hold did not. */
export function soak(seed: number, theme: SoakTheme): Promise<SoakCounts> {
  return simulate({ seed, maxVirtualMs: 600_000 }, async (simulation) => {
    const world = new SoakWorld(simulation);
    await world.open();
    await simulation.sleep(settleMs);
    const plan = drawPlan(simulation.random, world, theme);
    applyFaultPlan(simulation, plan);
    await world.ask(quietAfterMs, meanBetweenRequestsMs.wild);
    await world.ask(calmMs, meanBetweenRequestsMs.calm);
    await simulation.sleep(patienceMs);
    world.checkSettled();
    const { violations, counts } = world.judge;
    if (violations.length > 0) {
      const parts = [violations.join("\n"), printFaultPlan(plan), world.story.join("\n")];
      throw new Error(`seed ${seed}: ${parts.join("\n\n")}`);
    }
    await world.close();
    return counts;
  });
}

export class SoakWorld {
  readonly simulation: Simulation;
  readonly judge: SoakJudge;
  /** The events, in order. */
  readonly story: string[] = [];
  readonly #ledger: Ledger;
  readonly #ingress: SoakIngress;
  readonly #traffic: SoakTraffic;
  #clusters: readonly SoakCluster[] = [];
  readonly #lostNodes = new Set<string>();
  readonly #unreachable = new Set<string>();
  readonly #disturbances: Disturbances;
  readonly #watches: SoakWatches;
  /** The last report of each service. */
  readonly #reports = new Map<string, string>();

  constructor(simulation: Simulation) {
    this.simulation = simulation;
    this.#ledger = new Ledger(simulation.host("ledger"));
    this.#disturbances = new Disturbances(() => simulation.now());
    this.#watches = new SoakWatches({ simulation, loop: () => this.#ingress.loop });
    this.judge = new SoakJudge({
      now: () => simulation.now(),
      later: (ms, callback) => simulation.at(simulation.now() + ms, callback),
      ledger: this.#ledger,
      recordOf: (uid) => this.#recordOf(uid),
      recordsOf: (service) => this.#recordsOf(service),
      loop: () => this.#ingress.loop,
      isReachable: ({ node }) => !this.#unreachable.has(node) && !this.#lostNodes.has(node),
      quietSinceMs: (cluster) => this.#disturbances.quietSinceMs(cluster),
      slicesQuietSinceMs: (cluster) => this.#disturbances.slicesQuietSinceMs(cluster),
      podsSilentSinceMs: (cluster) => this.#disturbances.podsSilentSinceMs(cluster),
      freshSinceMs: (cluster) => this.#watches.freshSinceMs(cluster),
      podsStaleSinceMs: (cluster) => this.#watches.isSinceMs(cluster, "pods", "stale"),
      slicesFreshSinceMs: (cluster) => this.#watches.isSinceMs(cluster, "published", "fresh"),
    });
    this.#ingress = new SoakIngress({
      simulation,
      clusters: () => this.#clusters,
      onTruth: (change) => this.#decided(change),
      watched: (network) => this.#traffic.watched(network),
      probing: (network) => this.#traffic.probing(network),
    });
    this.#traffic = new SoakTraffic({
      simulation,
      judge: this.judge,
      ingress: this.#ingress,
      tell: (text) => this.#tell(text),
    });
  }

  get clusters(): readonly SoakCluster[] {
    return this.#clusters;
  }

  get east(): SoakCluster {
    return this.#cluster(0);
  }

  get west(): SoakCluster {
    return this.#cluster(1);
  }

  /** Where a service has pods. */
  get shops(): readonly Shop[] {
    const [east, west] = [this.east, this.west];
    return [
      { cluster: east, service: "web" },
      { cluster: west, service: "web" },
      { cluster: west, service: "api" },
    ];
  }

  async open(): Promise<void> {
    const { simulation } = this;
    const reuseAddressAfterMs = simulation.random.next() < 0.5 ? 0 : 300_000;
    const shared = { simulation, reuseAddressAfterMs, ledger: this.#ledger, nodes: 2 };
    this.#clusters = [
      await SoakCluster.start({ ...shared, name: "east", podNetwork: "10.1" }),
      await SoakCluster.start({ ...shared, name: "west", podNetwork: "10.2" }),
    ];
    for (const service of services) {
      for (const cluster of this.#clusters) await cluster.service(service);
      await this.east.ingress(service);
    }
    for (const onTerm of ["exit", "drain"] as const) {
      for (const { cluster, service } of this.shops) {
        await this.addPod(cluster, service, simulation.random.next(), onTerm);
      }
    }
    await this.#ingress.start("proxy");
    await this.#ingress.start("lockstep");
    this.#watches.look(this.#clusters.map(({ name }) => name));
  }

  /** Sends requests for as long. */
  async ask(forMs: number, meanBetweenMs: number): Promise<void> {
    const { simulation } = this;
    const untilMs = simulation.now() + forMs;
    while (simulation.now() < untilMs) {
      await simulation.sleep(randomBetween(simulation.random, 0, 2 * meanBetweenMs));
      for (const service of services) this.do(() => this.#traffic.request(service));
    }
  }

  /** When all is over, exactly what lives and is ready is routed to. */
  checkSettled(): void {
    for (const service of services) {
      const endpoints = this.#ingress.loop?.decisions.truths.get(keyOf(service))?.truth.endpoints;
      const routed = (endpoints ?? []).filter(
        (endpoint) => isRouted(endpoint) && !this.#isUntried(endpoint),
      );
      const ready = this.#recordsOf(service)
        .filter(({ standing }) => standing === "ready")
        .filter(({ node }) => !this.#lostNodes.has(node));
      const expected = ready.map(({ name }) => name).sort();
      const found = routed.map(({ podName }) => podName ?? "").sort();
      if (expected.length === 0 || expected.join() === found.join()) continue;
      this.judge.violations.push(`at the end ${service} has ${found}, and ${expected} are ready`);
    }
  }

  /**
   * Its kubelet called the pod ready after the node controller had not, and then its node was lost:
   * the API calls it ready until it is evicted, and while it only stands in no request finds out.
   */
  #isUntried({ podUid = "", priority = 0 }: DecidedEndpoint): boolean {
    const record = this.#recordOf(podUid);
    return priority > 0 && record?.standing === "ready" && this.#lostNodes.has(record.node);
  }

  async close(): Promise<void> {
    this.#watches.stop();
    this.kill("lockstep");
    this.kill("proxy");
    await Promise.all(this.#clusters.map((cluster) => cluster.stop()));
  }

  /** Runs an action that an API server may refuse; it is not awaited. */
  do(act: () => Promise<void>): void {
    act().catch((error: unknown) => {
      const isRefused =
        error instanceof StatusError ||
        error instanceof NetworkError ||
        error instanceof DeadlineExceededError;
      if (isRefused) this.#tell(`could not be done: ${error.message}`);
      else this.simulation.fail(error);
    });
  }

  podsOf(cluster: SoakCluster, service: string): readonly PodRecord[] {
    return cluster.records
      .all()
      .filter((one) => one.service === service && one.exists && one.standing !== "leaving");
  }

  async addPod(
    cluster: SoakCluster,
    service: string,
    choice: number,
    onTerm: OnTerm,
  ): Promise<void> {
    const nodes = cluster.nodes.filter((node) => !this.#lostNodes.has(node));
    await cluster.pod(service, nodes[Math.floor(choice * nodes.length)] ?? "", onTerm);
  }

  /** Not the last one. */
  async deleteOldest(cluster: SoakCluster, service: string): Promise<void> {
    const [oldest, ...others] = this.podsOf(cluster, service);
    if (oldest === undefined || others.length === 0) return;
    this.#tell(`${oldest.name} is deleted`);
    await cluster.deletePod(oldest);
  }

  /** The program of one pod; gives the pod. */
  crash(cluster: SoakCluster, service: string, choice: number): PodRecord | undefined {
    const pods = this.podsOf(cluster, service).filter(({ node }) => !this.#lostNodes.has(node));
    const pod = pods[Math.floor(choice * pods.length)];
    if (pod === undefined) return undefined;
    this.#tell(`${pod.name} at ${pod.address} crashes`);
    cluster.kubelets.get(pod.node)?.crash(pod.uid);
    return pod;
  }

  loseNode(cluster: SoakCluster, node: string): void {
    if (this.#lostNodes.has(node)) return;
    this.#lostNodes.add(node);
    this.simulation.crash(node, { vanish: true });
    for (const record of cluster.records.all()) {
      if (record.node === node) this.#ledger.ended(record.address, record.uid);
    }
  }

  /** The node is gone, and new pods of other services get the addresses of those it had. */
  async passAddressesOn(cluster: SoakCluster, node: string): Promise<void> {
    if (this.#lostNodes.has(node)) return;
    for (const shop of this.shops) {
      if (shop.cluster === cluster) await cluster.pod(shop.service, node, "exit");
    }
    // Until they are ready and routed to.
    await this.simulation.sleep(settleMs);
    const pods = cluster.records.all().filter((one) => one.node === node && one.exists);
    this.loseNode(cluster, node);
    cluster.freeAddresses(pods);
    for (const { service } of pods) {
      const other = services.find((one) => one !== service) ?? service;
      await this.addPod(cluster, other, 0, "exit");
    }
  }

  setReachable(nodes: readonly string[], isReachable: boolean): void {
    for (const node of nodes) {
      if (isReachable) this.#unreachable.delete(node);
      else this.#unreachable.add(node);
    }
  }

  /** An effect that disturbs the events of these clusters. */
  disturbing(clusters: readonly SoakCluster[], effect: Effect, what?: "all" | "pods"): Effect {
    return this.#disturbances.noted(clusters, effect, what);
  }

  kill(program: SoakProgram): void {
    this.#ingress.kill(program);
    this.judge.forgotSuspects();
  }

  start(program: SoakProgram): void {
    this.judge.forgotSuspects();
    this.do(() => this.#ingress.start(program));
  }

  #cluster(index: number): SoakCluster {
    const cluster = this.#clusters[index];
    if (cluster === undefined) throw new Error("the world is not open");
    return cluster;
  }

  #recordsOf(service: string): readonly PodRecord[] {
    const all = this.#clusters.flatMap(({ records }) => records.all());
    return all.filter((record) => record.service === service);
  }

  #recordOf(uid: string): PodRecord | undefined {
    for (const { records } of this.#clusters) {
      const record = records.of(uid);
      if (record !== undefined) return record;
    }
    return undefined;
  }

  #decided({ service, before, after }: TruthChange): void {
    const rows = after?.endpoints ?? [];
    const name = service.slice("default/".length, service.lastIndexOf(":"));
    const text = rows.map(({ podName, address, state, reason }) => {
      return `${podName} ${address} ${state} (${reason})`;
    });
    const report = `${name} is [${text.join(", ")}]`;
    if (this.#reports.get(name) !== report) this.#tell(report);
    this.#reports.set(name, report);
    // A new Lockstep begins with a load, and the proxy forgets the state of the one before.
    if (before === undefined) this.judge.forgotSuspects();
    this.judge.decided(name, before?.endpoints ?? [], rows);
  }

  #tell(text: string): void {
    this.story.push(`${(this.simulation.now() / 1000).toFixed(3)} s  ${text}`);
  }
}
