// Only for tests: one to three clusters and an access cluster, a publisher and a copier, proxy
// replicas and clients, and observers of them, one after the other, with a record of every
// delivery. Everything is drawn from a seed.
import { type Random, randomBetween, randomInt } from "../../src/environment/random.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";
import { ProofCluster } from "./proof-cluster.ts";
import { ProofPods } from "./proof-pods.ts";
import { ProofPublisher } from "./proof-publisher.ts";
import { ProofReplicas } from "./proof-replicas.ts";
import { observerHost, type ProofRun, startRun } from "./proof-run.ts";
import { ProofTraffic } from "./proof-traffic.ts";
import { UnderWay } from "./under-way.ts";

export class ProofWorld {
  readonly clusters: readonly ProofCluster[];
  readonly access: ProofCluster;
  readonly runs: ProofRun[] = [];
  /** Nothing breaks; pods come and go all the same. */
  readonly isCalm: boolean;
  readonly #simulation: Simulation;
  readonly #random: Random;
  readonly #underWay: UnderWay;
  readonly #pods: ProofPods;
  readonly #publisher: ProofPublisher;
  readonly #replicas: ProofReplicas;
  readonly #traffic: ProofTraffic;
  readonly #hasLog: boolean;

  constructor(simulation: Simulation, { isCalm }: { readonly isCalm: boolean }) {
    this.#simulation = simulation;
    this.isCalm = isCalm;
    const { random } = simulation;
    this.#random = random;
    this.#underWay = new UnderWay(simulation);
    const names = ["east", "west", "north"].slice(0, 1 + randomInt(random, 3));
    this.clusters = names.map((name) => {
      const form = random.next() < 0.75 ? "endpointslices" : "endpoints";
      return new ProofCluster(simulation, name, form);
    });
    this.access = new ProofCluster(simulation, "access", "endpointslices");
    this.#hasLog = random.next() < 0.5;
    const shared = { simulation, random, underWay: this.#underWay, clusters: this.clusters };
    const run = (): ProofRun => this.run;
    this.#replicas = new ProofReplicas({ ...shared, run });
    this.#traffic = new ProofTraffic({ ...shared, run });
    this.#publisher = new ProofPublisher({
      ...shared,
      access: this.access,
      onPublished: () => this.#replicas.routeLater(),
    });
    const onChange = (cluster: ProofCluster): void => this.#publisher.publishLater(cluster);
    this.#pods = new ProofPods({ ...shared, onChange });
  }

  get run(): ProofRun {
    const run = this.runs.at(-1);
    if (run === undefined) throw new Error("there is no observer");
    return run;
  }

  async furnish(): Promise<void> {
    for (const cluster of [...this.clusters, this.access]) await cluster.start();
    for (const cluster of this.clusters) await this.#pods.furnish(cluster);
    await this.settled();
  }

  /** Resolves when nothing that was begun is under way any more. */
  settled(): Promise<void> {
    return this.#underWay.settled();
  }

  async observe(): Promise<void> {
    const { clusters, access } = this;
    const run = startRun(this.#simulation, { clusters, access, hasLog: this.#hasLog });
    this.runs.push(run);
    await run.observer.waitForSync();
    this.#replicas.beginAll();
    if (this.#hasLog) this.#traffic.begin();
  }

  async endRun(): Promise<void> {
    const { run } = this;
    run.endedAt = this.#simulation.host(observerHost).clock.monotonicMs();
    this.#replicas.endAll();
    await run.observer.stop();
  }

  /** Something happens to some pod, service, replica or server. */
  async act(): Promise<void> {
    const random = this.#random;
    if (this.#hasLog && this.runs.length > 0) for (const _ of [1, 2, 3]) this.#traffic.send();
    const number = randomInt(random, this.clusters.length);
    const cluster = this.clusters[number];
    if (cluster === undefined) return;
    const later = (act: () => Promise<void>): void => this.#underWay.later(0, act);
    const chance = random.next();
    if (chance < 0.8) await this.#pods.change(cluster);
    else if (chance < 0.83) later(() => this.#pods.recreateService(cluster));
    else if (chance < 0.86) later(() => this.#pods.selectOthers(cluster));
    else if (chance < 0.87) later(() => this.#pods.recreateNamespace(cluster));
    else if (chance < 0.9) later(() => this.#replicas.replace());
    else if (chance < 0.93 || this.isCalm) await this.#publisher.publishByHand(cluster, number);
    else await this.#breakSomething(cluster);
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    for (const cluster of [...this.clusters, this.access]) await cluster.server.stop();
  }

  async #breakSomething(cluster: ProofCluster): Promise<void> {
    const chance = this.#random.next();
    if (chance < 0.3) await cluster.restart();
    else if (chance < 0.55) this.#freeze(cluster);
    else if (chance < 0.75) this.#underWay.later(0, () => this.#replicas.silence());
    else await this.#observeAgain();
  }

  /** For a while its watch cache follows the storage no more. */
  #freeze({ server }: ProofCluster): void {
    const { cache } = server.faults;
    cache.cacheLagMs = Number.POSITIVE_INFINITY;
    this.#underWay.later(randomBetween(this.#random, 1_000, 100_000), async () => {
      cache.cacheLagMs = 0;
    });
  }

  async #observeAgain(): Promise<void> {
    await this.endRun();
    await this.observe();
  }
}
