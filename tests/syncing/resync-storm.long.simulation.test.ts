// A business cluster in the middle of the incident `resync-storm`: its controller manager writes the
// Endpoints of every headless service again, and a real change waits behind these writes. A deletion
// reaches the access cluster as soon as in quiet times.
import { expect, test } from "vitest";
import type { StorageEvent } from "../../src/apiserver/storage/storage.ts";
import { namespacePolicy } from "../../src/decide/syncing/sync-policy.ts";
import { type KubeClient, parseJson } from "../../src/kube/client/client.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { type Endpoints, endpointsKind } from "../../src/kube/kinds/endpoints.ts";
import { isRecord, listAt } from "../../src/kube/kinds/fields.ts";
import { podKind } from "../../src/kube/kinds/pod.ts";
import { type Cluster, type ClusterOptions, startCluster } from "../../src/lab/cluster.ts";
import {
  fillerObjects,
  flagsOf,
  shortSettings,
} from "../../src/lab/incidents/resync-storm/settings.ts";
import type { Stage } from "../../src/lab/incidents/stage.ts";
import { VirtualStages } from "../../src/lab/incidents/virtual-stage.ts";
import { Ledger } from "../../src/lab/kubelet/ledger.ts";
import { QueueWatch } from "../../src/lab/probe/queue-watch.ts";
import { createShop } from "../../src/lab/shop.ts";
import { ServiceSyncer } from "../../src/outputs/slices/service-syncer.ts";

const podsPath = "/api/v1/namespaces/default/pods";
const endpointsPath = "/api/v1/namespaces/default/endpoints";
const { services, limits, minResyncMs, resyncFactor } = shortSettings;

/** Between two looks at the controllers' queue. */
const lookMs = 1_000;

/** Longer than a change takes in quiet times. */
const settleMs = 5_000;

const removals = 3;

test("in the middle of resync-storm a deletion reaches the access cluster as soon as in quiet times", () =>
  new VirtualStages({ seed: 1 }).open(async (stage) => {
    const copies = new StoredCopies(() => stage.now());
    const business = await start(stage, "business", {
      profile: "1.17.3",
      flags: flagsOf(limits, minResyncMs),
      ...(resyncFactor === undefined ? {} : { resyncFactor }),
      objects: fillerObjects(shortSettings),
    });
    const edge = await start(stage, "edge", { onStored: (event) => copies.note(event) });
    const user = clientOf(stage, "user", business);
    await createShop(user, { replicas: 2 * removals + 2 });
    const queue = new QueueWatch({
      ...stage.environmentOf("user"),
      metricsUrl: () => business.controlPlane.metricsUrl,
      now: () => stage.now(),
      queue: "endpoint",
    });
    await queue.untilAdded({ ...(await queue.look()), adds: 0 }, services, lookMs);
    await queue.untilEmpty(lookMs);
    const { stop } = startSync(stage, business, edge);
    await stage.sleep(settleMs);
    const remove = async () => {
      const lags: number[] = [];
      for (let removal = 0; removal < removals; removal += 1) {
        lags.push(await removalLag(stage, user, copies));
      }
      return Math.max(...lags);
    };
    const idleMs = await remove();
    await queue.untilAdded(await queue.look(), services, lookMs);
    const stormMs = await remove();
    // Else there is no storm.
    const { depth } = await queue.look();
    expect(depth).toBeGreaterThan(services / 4);
    expect(await deadIn(user)).toBeGreaterThan(0);
    expect(stormMs).toBeLessThanOrEqual(2 * idleMs);
    await stop();
    await edge.stop();
    await business.stop();
  }));

/** When the copies of the shop in the storage last listed each address as ready. */
class StoredCopies {
  readonly #now: () => number;
  readonly #slices = new Map<string, ReadonlySet<string>>();
  readonly #goneAt = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  note(event: StorageEvent): void {
    const key = event.type === "put" ? event.record.key : event.key;
    if (!key.includes("/endpointslices/default/shop-business-")) return;
    const before = this.#slices.get(key) ?? new Set();
    const after = event.type === "put" ? readyIn(event.record.value) : new Set<string>();
    this.#slices.set(key, after);
    for (const one of before) if (!after.has(one)) this.#goneAt.set(one, this.#now());
  }

  get ready(): ReadonlySet<string> {
    return new Set([...this.#slices.values()].flatMap((one) => [...one]));
  }

  goneAt(address: string): number | undefined {
    return this.#goneAt.get(address);
  }
}

function readyIn(value: Uint8Array): ReadonlySet<string> {
  const slice: {
    readonly endpoints?: readonly {
      readonly addresses: readonly string[];
      readonly conditions: { readonly ready: boolean };
    }[];
  } = JSON.parse(Buffer.from(value).toString("utf8"));
  const ready = (slice.endpoints ?? []).filter(({ conditions }) => conditions.ready);
  return new Set(ready.flatMap(({ addresses }) => addresses));
}

function start(stage: Stage, name: string, options: Partial<ClusterOptions>): Promise<Cluster> {
  return startCluster({
    name,
    ports: [6443],
    nodes: 2,
    ...options,
    environmentOf: (part) => stage.environmentOf(part),
    hostOf: (part) => stage.hostOf(part),
    podNetwork: name === "edge" ? "10.8" : stage.podNetwork,
    ledger: new Ledger(stage.environmentOf("user")),
  });
}

function clientOf(stage: Stage, machine: string, { access }: Cluster): KubeClient {
  const environment = stage.environmentOf(machine);
  return new HttpKubeClient({ ...environment, cluster: access, userAgent: machine });
}

function startSync(stage: Stage, business: Cluster, edge: Cluster) {
  const syncer = new ServiceSyncer({
    ...stage.environmentOf("sync"),
    sources: [{ cluster: "business", client: clientOf(stage, "sync", business) }],
    target: { cluster: "edge", client: clientOf(stage, "sync", edge) },
    writeClient: clientOf(stage, "sync", edge),
    policy: namespacePolicy(new Set(["default"])),
  });
  const abort = new AbortController();
  const done = syncer.run(abort.signal);
  return {
    stop: async () => {
      abort.abort(new Error("the test is over"));
      await done;
    },
  };
}

/** A pod that is copied is deleted: the time until no copy lists it. */
async function removalLag(stage: Stage, user: KubeClient, copies: StoredCopies): Promise<number> {
  const { ready } = copies;
  const pod = (await podsOf(user)).find(({ podIP }) => podIP !== undefined && ready.has(podIP));
  if (pod?.podIP === undefined) throw new Error("no pod is copied");
  const path = `${podsPath}/${pod.metadata.name}?gracePeriodSeconds=0`;
  const atMs = stage.now();
  await user.request({ verb: "delete", method: "DELETE", path });
  await stage.sleep(settleMs);
  const goneAt = copies.goneAt(pod.podIP);
  if (goneAt === undefined) throw new Error(`${pod.podIP} is still copied`);
  return goneAt - atMs;
}

async function podsOf(user: KubeClient) {
  const path = `${podsPath}?labelSelector=app%3Dshop`;
  const list = parseJson(await user.request({ verb: "list", method: "GET", path }));
  return (isRecord(list) ? listAt(list, "items") : []).map((raw) => podKind.project(raw));
}

/** Addresses in the shop's own Endpoints of pods that are gone. */
async function deadIn(user: KubeClient): Promise<number> {
  const path = `${endpointsPath}/shop`;
  const raw = parseJson(await user.request({ verb: "get", method: "GET", path }));
  const { subsets }: Endpoints = endpointsKind.project(raw);
  const alive = new Set((await podsOf(user)).map(({ podIP }) => podIP));
  const listed = subsets.flatMap(({ addresses }) => addresses.map(({ ip }) => ip));
  return listed.filter((ip) => !alive.has(ip)).length;
}
