// Writers of the status of Ingresses, from many seeds: replicas come and go, lose their connection
// to the API server, stall and have wrong clocks. Only the holder of the lease overwrites the
// holder's status, no address is ever removed, and in the end everything is right. Each replica
// publishes an address of its own, so that a status shows its writer.
import { Registry } from "prom-client";
import { expect } from "vitest";
import { decodeRecord } from "../../src/apiserver/listwatch/encoded-object.ts";
import { MemoryStorage } from "../../src/apiserver/storage/memory-storage.ts";
import type { StoredRecord } from "../../src/apiserver/storage/storage.ts";
import { loadBalancerAddress } from "../../src/decide/status/load-balancer-address.ts";
import { randomBetween, randomInt } from "../../src/environment/random.ts";
import { Leadership } from "../../src/ingress/leadership.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { ingressKind } from "../../src/kube/kinds/ingress.ts";
import { leaseKind } from "../../src/kube/kinds/lease.ts";
import { podIdentity } from "../../src/kube/leader/leader-identity.ts";
import { defaultElectionTimes } from "../../src/kube/leader/leader-rules.ts";
import { rewriteAfterMs } from "../../src/outputs/status/status-writer.ts";
import {
  applyFaultPlan,
  type Fault,
  printFaultPlan,
  randomFaultPlan,
  withFaults,
} from "../../src/simulation/faults.ts";
import { forEachSeed } from "../../src/simulation/seeds.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";
import { IngressSource } from "../../src/sources/ingress-source.ts";
import { down } from "../reflector/reflector-server-faults.ts";
import { TestServer } from "../reflector/reflector-servers.ts";

const names: readonly string[] = ["one", "two", "three"];
const api = "api";
const ingresses = ["a", "b"] as const;
const lease = { namespace: "default", name: "leader" };
const namespaced = "/api/v1/namespaces/default";

const quietAfterMs = 150_000;

/** A failed watch is retried, a replica takes the lock, and every Ingress is written. */
const calmMs = 60_000 + defaultElectionTimes.leaseDurationMs + 2 * rewriteAfterMs;

class StatusWorld {
  readonly #simulation: Simulation;
  readonly server: TestServer;
  readonly violations: string[] = [];
  readonly #uids = new Map<string, string>();
  readonly #running = new Set<string>();
  /** The identity in the lease. */
  holder = "";
  /** By Ingress, the address it shows. */
  readonly shown = new Map<string, string>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    const storage = new MemoryStorage(simulation.host(api));
    const clientNames = [...names, "operator"];
    const shared = { simulation, storage, name: api, clientNames };
    this.server = new TestServer({ ...shared, expiredWatchAnswer: "event" });
    const watch = (prefix: string, wrote: (record: StoredRecord) => void) =>
      storage.watch(prefix, 1, {
        onEvent: (event) => {
          if (event.type === "put") wrote(event.record);
        },
        onProgress: () => undefined,
        onLost: (error) => simulation.fail(error),
      });
    watch("/registry/leases/", (record) => {
      this.holder = leaseKind.project(decodeRecord(record).object).holderIdentity;
    });
    watch("/registry/ingress/", (record) => this.#wrote(record));
  }

  async open(): Promise<void> {
    await this.server.start();
    const client = this.server.client("operator", "operator");
    const create = async (path: string, body: object) =>
      JSON.parse(
        (await client.request({ verb: "create", method: "POST", path, body })).body.toString(),
      );
    for (const name of names) {
      const containers = [{ name: "c", image: "c" }];
      const pod = await create(`${namespaced}/pods`, { metadata: { name }, spec: { containers } });
      this.#uids.set(name, pod.metadata.uid);
    }
    for (const name of ingresses) {
      const service = { name: "web", port: { number: 80 } };
      await create("/apis/networking.k8s.io/v1/namespaces/default/ingresses", {
        metadata: { name },
        spec: { ingressClassName: "lockstep", defaultBackend: { service } },
      });
    }
    for (const name of names) this.start(name);
  }

  identityOf(name: string): string {
    return podIdentity(name, this.#uids.get(name) ?? "");
  }

  start(name: string): void {
    if (this.#running.has(name)) return;
    this.#running.add(name);
    const environment = this.#simulation.host(name);
    const cluster = fixedAccess({ name: "c", server: `http://${api}`, token: `${name}-token` });
    const client = new HttpKubeClient({ ...environment, cluster, userAgent: name });
    const asked = new IngressSource({
      ...environment,
      client,
      cluster: "c",
      onRoutes: () => undefined,
    });
    const leadership = new Leadership({
      ...environment,
      cluster,
      asked,
      className: "lockstep",
      metrics: new Registry(),
      publish: {
        addresses: [loadBalancerAddress(addressOf(name))],
        lease,
        identity: this.identityOf(name),
        podNamespace: "default",
        deposeGhosts: false,
      },
      watchedLocks: [],
    });
    asked.start();
    leadership.run(new AbortController().signal).catch((error) => this.#simulation.fail(error));
  }

  kill(name: string, vanish: boolean): void {
    this.#running.delete(name);
    this.#simulation.crash(name, { vanish });
  }

  /** The leader has something to put right, in the middle of whatever else happens. */
  scribble(): void {
    const client = this.server.client("operator", "operator");
    for (const name of ingresses) {
      client
        .request({
          verb: "patch",
          method: "PATCH",
          path: `/apis/networking.k8s.io/v1/namespaces/default/ingresses/${name}/status`,
          contentType: "application/merge-patch+json",
          body: { status: { loadBalancer: { ingress: [{ ip: "198.51.100.1" }] } } },
          deadlineMs: 1_000,
        })
        // An API server that is down takes no write.
        .catch(() => undefined);
    }
  }

  #wrote(record: StoredRecord): void {
    const { metadata, loadBalancer } = ingressKind.project(decodeRecord(record).object);
    const before = this.shown.get(metadata.name);
    const after = loadBalancer[0]?.ip;
    if (after !== undefined) this.shown.set(metadata.name, after);
    if (after === before) return;
    const holder = names.find((name) => this.identityOf(name) === this.holder);
    const change = `${this.#simulation.now()} ms: ${metadata.name} ${before} → ${after}`;
    if (after === undefined) this.violations.push(`${change}: an address was taken away`);
    if (holder === undefined || after === addressOf(holder)) return;
    if (before === addressOf(holder) && names.some((name) => after === addressOf(name))) {
      this.violations.push(`${change}: written over what the leader ${holder} had written`);
    }
  }
}

function addressOf(name: string): string {
  return `192.0.2.${names.indexOf(name) + 1}`;
}

function ownFaults({ random }: Simulation, world: StatusWorld): readonly Fault[] {
  const draw = (effect: Pick<Fault, "describe" | "begin" | "end">): Fault => {
    const atMs = randomBetween(random, 0, quietAfterMs);
    const untilMs = Math.min(quietAfterMs, atMs + randomBetween(random, 0, 40_000));
    return { atMs, untilMs, ...effect };
  };
  const kills = Array.from({ length: 3 }, () => {
    const name = names[randomInt(random, names.length)] ?? "one";
    const vanish = random.next() < 0.5;
    return draw({
      describe: `${name} is killed`,
      begin: () => world.kill(name, vanish),
      end: () => world.start(name),
    });
  });
  const scribbles = Array.from({ length: 20 }, () =>
    draw({
      describe: "another client writes another address",
      begin: () => world.scribble(),
      end: () => undefined,
    }),
  );
  const downs = [draw(down(world.server, "stop")), draw(down(world.server, "crash"))];
  return [...kills, ...scribbles, ...downs];
}

forEachSeed(
  "no status is taken away or written by one who does not lead, and in the end all are right",
  { seeds: 2 },
  (seed) =>
    simulate({ seed, maxVirtualMs: 600_000 }, async (simulation) => {
      const world = new StatusWorld(simulation);
      await world.open();
      await simulation.sleep(10_000);
      const drawn = randomFaultPlan(simulation.random, { hosts: [...names, api], quietAfterMs });
      const plan = withFaults(drawn, ownFaults(simulation, world));
      applyFaultPlan(simulation, plan);
      await simulation.sleep(plan.quietAfterMs + calmMs);
      const leader = names.find((name) => world.identityOf(name) === world.holder) ?? "none";
      const right = Object.fromEntries(ingresses.map((name) => [name, addressOf(leader)]));
      expect(
        { violations: world.violations, shown: Object.fromEntries(world.shown) },
        `${printFaultPlan(plan)}\n${leader} leads`,
      ).toEqual({ violations: [], shown: right });
      for (const name of names) world.kill(name, false);
      await world.server.goDown("stop");
    }),
);
