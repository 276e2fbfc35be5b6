// Only for tests: the pods and services of the clusters. Pods come, flap, get other labels, end, go
// and hand on their addresses; services are deleted and made again, select other pods for a while,
// or go with everything in their namespace. A seed decides which, and when.
import { type Random, randomBetween, randomInt } from "../../src/environment/random.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";
import type { ProofCluster } from "./proof-cluster.ts";
import { type ProofService, serviceSpec, services, web } from "./proof-services.ts";
import type { UnderWay } from "./under-way.ts";

export interface ProofPodsOptions {
  readonly simulation: Simulation;
  readonly random: Random;
  readonly underWay: UnderWay;
  /** Endpoints have to be published again. */
  readonly onChange: (cluster: ProofCluster) => void;
}

interface ProofPod {
  readonly cluster: ProofCluster;
  readonly path: string;
  readonly uid: string;
  readonly address: string;
  app: string;
}

interface PodState {
  readonly ready: boolean;
  readonly isLeaving?: boolean;
  readonly hasEnded?: boolean;
}

const deletionTimestamp = "2026-01-01T00:00:00Z";

/** Other selectors of a service, for a while. */
const otherSelectors = [{ tier: "shop" }, { app: "db" }];

export class ProofPods {
  readonly #options: ProofPodsOptions;
  /** Those that nothing is going on with. */
  readonly #pods: ProofPod[] = [];
  readonly #freeAddresses: string[] = [];
  #addresses = 0;

  constructor(options: ProofPodsOptions) {
    this.#options = options;
  }

  async furnish(cluster: ProofCluster): Promise<void> {
    for (const service of services) await this.#putService(cluster, service);
    for (let count = 0; count < 2; count += 1) await this.add(cluster);
  }

  /** Something happens to some pod. */
  async change(cluster: ProofCluster): Promise<void> {
    const { random } = this.#options;
    const own = this.#pods.filter((pod) => pod.cluster === cluster);
    const pod = own[randomInt(random, own.length)];
    const chance = random.next();
    if (chance < 0.4 || pod === undefined || own.length < 2) await this.add(cluster);
    else if (chance < 0.67) await this.#remove(pod);
    else if (chance < 0.95) this.#flap(pod);
    else await this.#relabel(pod);
  }

  async add(cluster: ProofCluster): Promise<void> {
    const { random } = this.#options;
    const uid = cluster.newUid();
    const app = random.next() < 0.7 ? "web" : "db";
    const reused = random.next() < 0.5 ? this.#freeAddresses.shift() : undefined;
    const address = reused ?? this.#newAddress();
    const pod = { cluster, path: `shop/${uid}`, uid, address, app };
    this.#pods.push(pod);
    await this.#put(pod, { ready: true });
  }

  async recreateService(cluster: ProofCluster): Promise<void> {
    await cluster.delete("services", web.path);
    await deletePublished(cluster, web);
    this.#options.onChange(cluster);
    await this.#pause(20_000);
    await this.#putService(cluster, web);
  }

  async selectOthers(cluster: ProofCluster): Promise<void> {
    const { random } = this.#options;
    await this.#putService(cluster, web, otherSelectors[randomInt(random, otherSelectors.length)]);
    await this.#pause(20_000);
    await this.#putService(cluster, web);
  }

  /** With all that is in it, one after the other; some time later it is there again. */
  async recreateNamespace(cluster: ProofCluster): Promise<void> {
    const own = this.#pods.filter((pod) => pod.cluster === cluster);
    for (const pod of own) this.#takeOut(pod);
    for (const service of services) {
      await cluster.delete("services", service.path);
      await deletePublished(cluster, service);
      await this.#pause(100);
    }
    for (const { path, address } of own) {
      await cluster.delete("pods", path);
      this.#freeAddresses.push(address);
      await this.#pause(100);
    }
    this.#options.onChange(cluster);
    await this.#pause(20_000);
    await this.furnish(cluster);
  }

  async #remove(pod: ProofPod): Promise<void> {
    const { random } = this.#options;
    this.#takeOut(pod);
    const chance = random.next();
    if (chance < 0.4) await this.#put(pod, { ready: true, isLeaving: true });
    else if (chance < 0.5) await this.#put(pod, { ready: false, hasEnded: true });
    if (chance < 0.5) await this.#pause(3_000);
    await pod.cluster.delete("pods", pod.path);
    this.#freeAddresses.push(pod.address);
    this.#options.onChange(pod.cluster);
  }

  /** Not ready for a while, by itself. */
  #flap(pod: ProofPod): void {
    this.#takeOut(pod);
    this.#options.underWay.later(0, async () => {
      await this.#put(pod, { ready: false });
      await this.#pause(8_000);
      await this.#put(pod, { ready: true });
      this.#pods.push(pod);
    });
  }

  async #relabel(pod: ProofPod): Promise<void> {
    pod.app = pod.app === "web" ? "db" : "web";
    await this.#put(pod, { ready: true });
  }

  async #putService(
    cluster: ProofCluster,
    service: ProofService,
    selector = service.selector,
  ): Promise<void> {
    await cluster.put("services", service.path, { body: { spec: serviceSpec(service, selector) } });
    this.#options.onChange(cluster);
  }

  async #put(
    { cluster, path, uid, address, app }: ProofPod,
    { ready, isLeaving = false, hasEnded = false }: PodState,
  ): Promise<void> {
    await cluster.put("pods", path, {
      uid,
      labels: { app, tier: "shop" },
      metadata: isLeaving ? { deletionTimestamp, deletionGracePeriodSeconds: 30 } : {},
      body: {
        spec: { nodeName: "n", containers: [{ name: "c", image: "web" }] },
        status: {
          phase: hasEnded ? "Failed" : "Running",
          podIP: address,
          podIPs: [{ ip: address }],
          conditions: [
            // A gate can keep a pod from being ready whose containers are.
            { type: "ContainersReady", status: hasEnded ? "False" : "True" },
            { type: "Ready", status: ready ? "True" : "False" },
          ],
        },
      },
    });
    this.#options.onChange(cluster);
  }

  #takeOut(pod: ProofPod): void {
    this.#pods.splice(this.#pods.indexOf(pod), 1);
  }

  async #pause(mostMs: number): Promise<void> {
    const { simulation, random } = this.#options;
    await simulation.sleep(randomBetween(random, 1, mostMs));
  }

  #newAddress(): string {
    this.#addresses += 1;
    return `10.1.${this.#addresses >> 8}.${this.#addresses & 255}`;
  }
}

async function deletePublished(cluster: ProofCluster, { path }: ProofService): Promise<void> {
  await cluster.delete("endpoints", path);
  for (const part of [1, 2]) await cluster.delete("endpointslices", `${path}-${part}`);
}
