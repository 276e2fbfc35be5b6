// Pods of two business clusters that change at random while slices are published late or never, faults
// of networks and API servers, and syncers that end between any two writes; and an oracle that reads
// nothing but the objects themselves.
import { expect } from "vitest";
import { randomInt } from "../../src/environment/random.ts";
import { endpointsKind } from "../../src/kube/kinds/endpoints.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../../src/kube/kinds/fields.ts";
import { SoakRules } from "./soak-rules.ts";
import { type RunningSyncer, type SyncWorld, servicesPath, slicesPath } from "./sync-world.ts";

const podsPath = "/api/v1/namespaces/shop/pods";
const endpointsPath = "/api/v1/namespaces/shop/endpoints";
const business = ["lab-1", "lab-2"] as const;
type Business = (typeof business)[number];
export const soakServices = ["web", "api", "pay"] as const;

/** Of an endpoint in the access cluster: its address and what is written about it. */
type Shown = Readonly<Record<string, string>>;

export class SoakWorld {
  readonly rules: SoakRules;
  readonly #world: SyncWorld;
  #pods = 0;
  /** Objects of others in the access cluster, with their versions. */
  #foreign: Shown = {};

  constructor(world: SyncWorld) {
    this.#world = world;
    this.rules = new SoakRules(world);
  }

  async prepare(): Promise<void> {
    for (const cluster of business) {
      for (const service of soakServices) await this.#world.publish(cluster, service, []);
      for (let count = 0; count < 6; count += 1) await this.addPod(cluster);
    }
    await this.#world.publish("edge", "local", ["10.9.0.1"]);
    const labels = { "kubernetes.io/service-name": "web", app: "other" };
    await this.#world.call("edge", "POST", slicesPath, {
      metadata: { name: "web-lab-1-0", labels },
      addressType: "IPv4",
      ports: [],
      endpoints: [],
    });
    await this.#world.call("edge", "POST", endpointsPath, {
      metadata: { name: "local" },
      subsets: [{ addresses: [{ ip: "10.9.0.1" }], ports: [{ port: 80 }] }],
    });
    await this.rules.prepare();
    this.#foreign = await this.#foreignVersions();
  }

  async step(): Promise<void> {
    const cluster = this.#pick(business);
    if (randomInt(this.#random, 4) === 0) return await this.rules.step();
    switch (randomInt(this.#random, 10)) {
      case 0:
      case 1:
        return await this.addPod(cluster);
      case 2:
        return await this.#deletePod(cluster, 0);
      case 3:
        return await this.#deletePod(cluster, 30);
      case 4:
      case 5:
        return await this.#setReady(cluster, "False");
      case 6:
      case 7:
        return await this.#setReady(cluster, "True");
      case 8:
        return await this.#publish(cluster);
      default:
        return await this.#toggleService(cluster);
    }
  }

  /** A pod becomes unready or is gone: its address, or undefined when none was ready. */
  async leave(): Promise<{ service: string; address: string } | undefined> {
    const cluster = this.#pick(business);
    const ready = (await this.#list(cluster, podsPath)).filter((pod) => isReady(pod));
    // Where it is the last one, it stays listed for as long as it still serves.
    const pod = ready.find((one) => ready.filter((two) => appOf(one) === appOf(two)).length > 1);
    if (pod === undefined) return undefined;
    const { name } = recordAt(pod, "metadata");
    if (randomInt(this.#random, 2) === 0) await this.#write(cluster, pod, "False");
    else await this.#world.call(cluster, "DELETE", `${podsPath}/${name}?gracePeriodSeconds=0`);
    return { service: appOf(pod), address: addressOf(pod) };
  }

  async isReadyInTarget(address: string): Promise<boolean> {
    const slices = await this.#world.slices();
    const inSlices = slices.flatMap(({ endpoints }) =>
      endpoints.flatMap((one) => (one.ready === true ? one.addresses : [])),
    );
    const inEndpoints = Object.values(await this.shownEndpoints()).flatMap((text) =>
      text.split(", ").map((one) => one.split(":")[0] ?? ""),
    );
    return [...inSlices, ...inEndpoints].includes(address);
  }

  async addPod(cluster: Business): Promise<void> {
    this.#pods += 1;
    const name = `pod-${this.#pods}`;
    const address = `10.${business.indexOf(cluster) + 1}.0.${this.#pods % 250}`;
    const app = this.#pick(soakServices);
    const containers = [{ name: "main", image: "web" }];
    const pod = await this.#world.call(cluster, "POST", podsPath, {
      metadata: { name, labels: { app }, annotations: { address } },
      spec: { nodeName: "n1", containers },
    });
    if (isRecord(pod)) await this.#write(cluster, pod, "True");
  }

  /** What the access cluster has to show, by cluster and service. */
  async expected(): Promise<Shown> {
    const shown: Record<string, string> = {};
    const offered: { cluster: Business; service: string; pods: readonly RawRecord[] }[] = [];
    for (const cluster of business) {
      const pods = await this.#list(cluster, podsPath);
      for (const raw of await this.#list(cluster, servicesPath)) {
        const { name, labels } = recordAt(raw, "metadata");
        if (isRecord(labels) && labels["lockstep.dev/sync"] === "false") continue;
        const service = String(name);
        offered.push({ cluster, service, pods: pods.filter((pod) => appOf(pod) === service) });
      }
    }
    for (const { cluster, service, pods } of offered) {
      const all = offered.filter((one) => one.service === service).flatMap((one) => one.pods);
      const isLast = !all.some((pod) => isReady(pod) && !isLeaving(pod));
      const lines = pods.filter(isReady).map((pod) => {
        const ready = !isLeaving(pod) || isLast;
        return `${addressOf(pod)}:8080 ${ready} ${isLeaving(pod)}`;
      });
      shown[`${service} of ${cluster}`] = lines.sort().join(", ");
    }
    return shown;
  }

  async shown(): Promise<Shown> {
    const shown: Record<string, string[]> = {};
    for (const { metadata, endpoints, ports } of await this.#world.slices()) {
      const cluster = metadata.labels["lockstep.dev/source-cluster"];
      if (cluster === undefined) continue;
      expect(endpoints.length).toBeLessThanOrEqual(100);
      const key = `${metadata.labels["kubernetes.io/service-name"]} of ${cluster}`;
      const lines = endpoints.map(
        ({ addresses, ready, terminating }) =>
          `${addresses[0]}:${ports[0]?.port} ${ready} ${terminating}`,
      );
      shown[key] = [...(shown[key] ?? []), ...lines];
    }
    return Object.fromEntries(
      Object.entries(shown).map(([key, lines]) => [key, lines.sort().join(", ")]),
    );
  }

  /** By service, the ready endpoints of all clusters, as Endpoints have to list them. */
  async expectedEndpoints(): Promise<Shown> {
    const lines = new Map<string, string[]>();
    for (const [key, text] of Object.entries(await this.expected())) {
      const service = key.split(" ")[0] ?? "";
      const ready = text.split(", ").filter((line) => line.split(" ")[1] === "true");
      const addresses = ready.map((line) => line.split(" ")[0] ?? "");
      lines.set(service, [...(lines.get(service) ?? []), ...addresses]);
    }
    return Object.fromEntries([...lines].map(([service, all]) => [service, all.sort().join(", ")]));
  }

  async shownEndpoints(): Promise<Shown> {
    const shown: Record<string, string> = {};
    for (const raw of (await this.#list("edge", endpointsPath)).filter(isOwn)) {
      const { metadata, subsets } = endpointsKind.project(raw);
      const lines = subsets.flatMap(({ addresses, ports }) =>
        addresses.map(({ ip }) => `${ip}:${ports[0]?.port}`),
      );
      shown[metadata.name] = lines.sort().join(", ");
    }
    return shown;
  }

  /** Services that the access cluster should have, and has. */
  async services(): Promise<{ expected: readonly string[]; shown: readonly string[] }> {
    const keys = Object.keys(await this.expected());
    const expected = new Set(["local", ...keys.map((key) => key.split(" ")[0] ?? "")]);
    const shown = (await this.#list("edge", servicesPath)).map(nameOf);
    return { expected: [...expected].sort(), shown: shown.sort() };
  }

  /** No service wants to be synced any more. */
  async unexportAll(): Promise<void> {
    const labels = { "lockstep.dev/sync": "false" };
    for (const cluster of business) {
      for (const raw of await this.#list(cluster, servicesPath)) {
        const path = `${servicesPath}/${nameOf(raw)}`;
        await this.#world.call(cluster, "PATCH", path, { metadata: { labels } });
      }
    }
  }

  /** Names of copies in the access cluster. */
  async own(): Promise<readonly string[]> {
    return (await this.#objects()).filter(isOwn).map(nameOf);
  }

  async expectForeignUntouched(): Promise<void> {
    expect(await this.#foreignVersions()).toEqual(this.#foreign);
  }

  async #foreignVersions(): Promise<Shown> {
    const foreign = (await this.#objects()).filter((raw) => !isOwn(raw));
    return Object.fromEntries(
      foreign.map((raw) => {
        const { uid, resourceVersion } = recordAt(raw, "metadata");
        return [`${nameOf(raw)} ${uid}`, String(resourceVersion)];
      }),
    );
  }

  /** Of the access cluster. */
  async #objects(): Promise<readonly RawRecord[]> {
    return [
      ...(await this.#list("edge", servicesPath)),
      ...(await this.#list("edge", slicesPath)),
      ...(await this.#list("edge", endpointsPath)),
      ...(await this.rules.all()),
    ];
  }

  async #deletePod(cluster: Business, graceSeconds: number): Promise<void> {
    const pod = this.#pickOr(await this.#list(cluster, podsPath));
    if (pod === undefined || isLeaving(pod)) return;
    const path = `${podsPath}/${nameOf(pod)}?gracePeriodSeconds=${graceSeconds}`;
    await this.#world.call(cluster, "DELETE", path);
  }

  async #setReady(cluster: Business, status: string): Promise<void> {
    const pod = this.#pickOr(await this.#list(cluster, podsPath));
    if (pod !== undefined) await this.#write(cluster, pod, status);
  }

  async #write(cluster: Business, pod: RawRecord, status: string): Promise<void> {
    const { annotations } = recordAt(pod, "metadata");
    const podIP = isRecord(annotations) ? String(annotations["address"]) : "";
    const conditions = ["Ready", "ContainersReady"].map((type) => ({ type, status }));
    await this.#world.call(cluster, "PATCH", `${podsPath}/${nameOf(pod)}/status`, {
      status: { phase: "Running", podIP, podIPs: [{ ip: podIP }], conditions },
    });
  }

  /** As a slow controller does: what is true now, which will soon be old. */
  async #publish(cluster: Business): Promise<void> {
    const service = this.#pick(soakServices);
    const pods = await this.#list(cluster, podsPath);
    const endpoints = pods
      .filter((pod) => appOf(pod) === service && isReady(pod))
      .map((pod) => {
        const { name, uid } = recordAt(pod, "metadata");
        const targetRef = { kind: "Pod", namespace: "shop", name, uid };
        return { addresses: [addressOf(pod)], conditions: { ready: !isLeaving(pod) }, targetRef };
      });
    const names = (await this.#list(cluster, slicesPath)).map(nameOf);
    if (!names.includes(`${service}-x1`)) return;
    await this.#world.call(cluster, "PATCH", `${slicesPath}/${service}-x1`, { endpoints });
  }

  /** Deleted, created again, or its label changed. */
  async #toggleService(cluster: Business): Promise<void> {
    const name = this.#pick(soakServices);
    const found = (await this.#list(cluster, servicesPath)).find((raw) => nameOf(raw) === name);
    const path = `${servicesPath}/${name}`;
    if (found === undefined) {
      await this.#world.call(cluster, "POST", servicesPath, {
        metadata: { name },
        spec: { selector: { app: name }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
      });
    } else if (randomInt(this.#random, 2) === 0) {
      await this.#world.call(cluster, "DELETE", path);
    } else {
      const isOff = JSON.stringify(recordAt(found, "metadata")["labels"] ?? {}).includes("false");
      const labels = { "lockstep.dev/sync": isOff ? null : "false" };
      await this.#world.call(cluster, "PATCH", path, { metadata: { labels } });
    }
  }

  async #list(cluster: "edge" | Business, path: string): Promise<readonly RawRecord[]> {
    const list = await this.#world.call(cluster, "GET", path);
    return isRecord(list) ? listAt(list, "items").filter(isRecord) : [];
  }

  #pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[randomInt(this.#random, items.length)] ?? items[0];
  }

  #pickOr<Item>(items: readonly Item[]): Item | undefined {
    return items.length === 0 ? undefined : items[randomInt(this.#random, items.length)];
  }

  get #random() {
    return this.#world.simulation.random;
  }
}

/** Begins a fault at random between a machine and a cluster; the result ends it. */
export function beginFault(world: SyncWorld, machine = "lockstep"): () => void {
  const { random, network } = world.simulation;
  const cluster = (["lab-1", "lab-2", "edge"] as const)[randomInt(random, 3)] ?? "edge";
  const { faults } = world.server(cluster);
  switch (randomInt(random, 7)) {
    case 0:
      network.partition(machine, cluster);
      return () => network.heal(machine, cluster);
    case 1:
      network.stall(cluster, machine);
      return () => network.unstall(cluster, machine);
    case 2:
      network.partitionOneWay(cluster, machine);
      return () => network.healOneWay(cluster, machine);
    case 3:
      faults.cache.cacheLagMs = 5_000;
      return () => {
        faults.cache.cacheLagMs = 0;
      };
    case 4:
      network.resetConnections(machine, cluster);
      return () => undefined;
    default: {
      const match = { userAgent: "lockstep" };
      const slow = { minMs: 0, maxMs: 300 };
      const errors = { rate: 0.2, code: 500 } as const;
      faults.setRules([{ match, latency: slow, resets: { rate: 0.1 }, errors }]);
      return () => faults.setRules([]);
    }
  }
}

export async function counted(syncer: RunningSyncer, metric: string): Promise<number> {
  const found = await syncer.registry.getSingleMetric(metric)?.get();
  return found?.values.reduce((total, { value }) => total + value, 0) ?? 0;
}

function isOwn(raw: RawRecord): boolean {
  return JSON.stringify(raw).includes('"lockstep.dev"');
}

function nameOf(raw: RawRecord): string {
  return String(recordAt(raw, "metadata")["name"]);
}

function appOf(pod: RawRecord): string {
  const { labels } = recordAt(pod, "metadata");
  return isRecord(labels) ? String(labels["app"]) : "";
}

function addressOf(pod: RawRecord): string {
  return String(recordAt(pod, "status")["podIP"]);
}

function isLeaving(pod: RawRecord): boolean {
  return recordAt(pod, "metadata")["deletionTimestamp"] !== undefined;
}

function isReady(pod: RawRecord): boolean {
  return listAt(recordAt(pod, "status"), "conditions").some(
    (one) => isRecord(one) && one["type"] === "Ready" && one["status"] === "True",
  );
}
