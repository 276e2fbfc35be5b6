// `lockstep sync` between two clusters with real control planes, and the observer that watches both:
// the copies are what the business cluster publishes, and every change has a journey with each hop. And
// between three: the Ingresses of two business clusters are served in the third one.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { parseJson } from "../../src/kube/client/client.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { listAt, recordAt } from "../../src/kube/kinds/fields.ts";
import { Observer } from "../../src/observe/observer.ts";
import type { Journey } from "../../src/timeline/journey.ts";
import { withoutNginx } from "../proxy-world.ts";
import { ShopsWorld } from "../shops-world.ts";
import { followShops } from "../synced-shops.ts";
import { type RealCluster, startRealCluster } from "./harness/real-cluster.ts";

const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const deadlineMs = 10_000;

it("copies what a real cluster publishes to another, and the observer sees each change at each hop", async () => {
  const business = await startRealCluster({ name: "business", nodes: 2 });
  const access = await startRealCluster({ name: "access", nodes: 0, controllers: [] });
  const contexts = [...business.contexts, ...access.contexts];
  const stop = async () => {
    await business.stop();
    await access.stop();
  };
  const host = { access: business.access, contexts, stop };
  const world = await ShopsWorld.startIn(host, { shops: 3, replicas: 2 });
  const over: Journey[] = [];
  const observer = new Observer({
    ...world.environment,
    clusters: [{ cluster: "business", client: observing(business), form: "endpointslices" }],
    accessClusters: [{ cluster: "access", client: observing(access) }],
    onEvent: ({ type, journey }) => {
      if (type === "over") over.push(journey);
    },
  });
  try {
    const sync = await startSync(world);
    world.atStop(() => sync.stop());
    await world.until("the first copies are there", () => inStep(business, access));
    observer.start();
    await observer.waitForSync(AbortSignal.timeout(30_000));
    world.atStop(() => observer.stop());
    await world.roll("2");
    await world.released("2");
    await world.until("the copies follow", () => inStep(business, access));
    await world.until("every journey is over", () => over.length >= 2 * 3 * 2);
    expect(await addressesIn(business)).toEqual(new Set((await world.pods()).map(addressOf)));
    const shown = over.map(({ direction, hops, outcome }) => ({
      direction,
      outcome,
      hops: hops.map(({ hop, state }) => `${hop} ${state.type}`),
    }));
    const hops = ["pod shown", "published shown", "synced shown"];
    for (const direction of ["join", "leave"]) {
      const count = shown.filter((one) => one.direction === direction).length;
      expect({ direction, count }).toEqual({ direction, count: 3 * 2 });
    }
    for (const one of shown) expect(one).toMatchObject({ outcome: "complete", hops });
  } finally {
    await world.stop();
  }
});

it.skipIf(withoutNginx !== false)(
  "two business clusters deploy, scale, roll and delete; the ingresses of a third one follow",
  async () => {
    const clusters: RealCluster[] = [];
    try {
      for (const [name, podNetwork, nodes] of [
        ["north", "10.201", 1],
        ["south", "10.203", 1],
        ["edge", "10.204", 0],
      ] as const) {
        const none = nodes === 0 ? { controllers: [] } : {};
        clusters.push(await startRealCluster({ name, podNetwork, nodes, ...none }));
      }
      const [north, south, edge] = clusters.map(({ access }) => access);
      if (!north || !south || !edge) throw new Error("a cluster is missing");
      const contexts = clusters.flatMap((cluster) => cluster.contexts);
      const last = await followShops({ accesses: [north, south, edge], contexts });
      expect(last).toEqual([404, 404]);
    } finally {
      for (const cluster of clusters) await cluster.stop();
    }
  },
);

/** As a user starts it. */
async function startSync(world: ShopsWorld): Promise<{ stop(): Promise<void> }> {
  const clusters = ["--from", "business", "--to", "access", "--namespace", "default"];
  const file = ["--kubeconfig", await world.kubeconfigFile()];
  const child = spawn(process.execPath, ["bin/lockstep.mjs", "sync", ...clusters, ...file], {
    stdio: "ignore",
  });
  return {
    stop: async () => {
      const exited = once(child, "exit");
      child.kill("SIGINT");
      await exited;
    },
  };
}

function observing({ environment, access }: RealCluster): HttpKubeClient {
  return new HttpKubeClient({ ...environment, cluster: access, userAgent: "observer" });
}

/** Whether both clusters name the same addresses, and some. */
async function inStep(one: RealCluster, other: RealCluster): Promise<boolean> {
  const [ours, theirs] = [await addressesIn(one), await addressesIn(other)];
  return ours.size > 0 && ours.size === theirs.size && [...ours].every((key) => theirs.has(key));
}

/** `shop-1 10.201.0.3` of every endpoint of the shops' slices. */
async function addressesIn({ client }: RealCluster): Promise<ReadonlySet<string>> {
  const request = { verb: "list", method: "GET", path: slices, deadlineMs } as const;
  const list = parseJson(await client.request(request)) as Record<string, unknown>;
  const items = listAt(list, "items") as readonly Record<string, unknown>[];
  return new Set(
    items.flatMap((slice) => {
      const { labels } = recordAt(slice, "metadata") as { labels?: Record<string, string> };
      const service = labels?.["kubernetes.io/service-name"] ?? "";
      const endpoints = listAt(slice, "endpoints") as readonly { addresses: readonly string[] }[];
      const all = endpoints.flatMap(({ addresses }) => addresses);
      return service === "kubernetes" ? [] : all.map((address) => `${service} ${address}`);
    }),
  );
}

function addressOf({ shop, address }: { shop: string; address: string }): string {
  return `${shop} ${address}`;
}
