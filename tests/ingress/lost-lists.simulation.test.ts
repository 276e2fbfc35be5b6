// An API server that answers lists with 200 and without the objects: from the watch to the proxy, in
// virtual time.
import { expect, test } from "vitest";
import { KnownObjects } from "../../src/kube/reflector/known-objects.ts";
import { type IngressWorld, inIngressWorld, type WorldOptions } from "./ingress-world.ts";

const address = "10.0.0.1";
const hosts = ["a.example", "b.example", "c.example"];
const secret = { namespace: "default", name: "web" };
/** Watches that fail are given up for a list within this time. */
const listedAgainWithinMs = 60_000;

const threeRoutes: WorldOptions["before"] = async ({ east }) => {
  await east.service("web");
  await east.pod("web-1", "web", address);
  await east.slice("web", { "web-1": address });
  const data = { "tls.crt": "Yw==", "tls.key": "aw==" };
  const type = "kubernetes.io/tls";
  await east.create("/api/v1/namespaces/default/secrets", {
    metadata: { name: secret.name },
    type,
    data,
  });
  for (const host of hosts) {
    await east.ingress(host.replace(".", "-"), host, "web");
    const path = `/apis/networking.k8s.io/v1/namespaces/default/ingresses/${host.replace(".", "-")}`;
    await east.update(path, { spec: { tls: [{ hosts: [host], secretName: secret.name }] } });
  }
};

function lose({ clusters }: Pick<IngressWorld, "clusters">, share: number): void {
  clusters.east.server.faults.cache.lostFromLists = () => share;
}

/** Every watch fails from now on, so that everything is listed again. */
function failWatches({ clusters }: IngressWorld, isFailing: boolean): void {
  const { faults } = clusters.east.server;
  const failing = { match: { verbs: ["watch"] as const }, errors: { rate: 1, code: 500 as const } };
  faults.setRules(isFailing ? [failing] : []);
  faults.cache.resetWatches();
}

async function answers({ proxy }: IngressWorld): Promise<readonly string[]> {
  return await Promise.all(hosts.map((host) => proxy.ask(host)));
}

function doubts({ loop }: IngressWorld): readonly (string | undefined)[] {
  const [east] = loop.sources;
  return [
    loop.asked.watch("ingresses").doubt,
    east?.watch("services").doubt,
    east?.watch("published").doubt,
    ...loop.secrets.doubts,
  ];
}

const lost = (what: string, has: number, had: number) =>
  `list of ${what} returned ${has} of ${had} known objects; the old ones are kept until 3 lists agree`;

const lostWholly = ["services", "endpointslices", "secrets"].map((what) => lost(what, 0, 1));

test.each([
  ["no object", 1, [lost("ingresses", 0, 3), ...lostWholly]],
  ["half of them", 0.5, [lost("ingresses", 1, 3), ...lostWholly]],
])("lists that come back with %s take no route and no certificate away", (_, share, expected) =>
  inIngressWorld(
    async (world) => {
      const { simulation, loop, proxy } = world;
      await proxy.program("n1", address);
      expect(await answers(world)).toEqual([address, address, address]);
      lose(world, share);
      failWatches(world, true);
      const seen = new Set<string>();
      for (let ms = 0; ms < listedAgainWithinMs; ms += 1_000) {
        await simulation.sleep(1_000);
        for (const doubt of doubts(world)) if (doubt !== undefined) seen.add(doubt);
        if (seen.size === expected.length) break;
      }
      expect([...seen].toSorted()).toEqual([...expected].toSorted());
      expect(loop.secrets.get(secret).kind).toBe("present");
      expect(await answers(world)).toEqual([address, address, address]);
      lose(world, 0);
      failWatches(world, false);
      await simulation.sleep(30_000);
      expect(doubts(world)).toEqual([undefined, undefined, undefined]);
      expect(await answers(world)).toEqual([address, address, address]);
      expect(loop.decisions.routes.hosts.size).toBe(3);
    },
    { before: threeRoutes },
  ),
);

test("Ingresses that were deleted while no watch was open are gone after a bounded time", () =>
  inIngressWorld(
    async (world) => {
      const { simulation, loop } = world;
      lose(world, 1);
      failWatches(world, true);
      await simulation.sleep(listedAgainWithinMs + 60_000);
      expect(loop.decisions.routes.hosts.size).toBe(0);
    },
    { before: threeRoutes },
  ));

test("after a restart, empty first lists decide nothing while more was known before", () => {
  const known = new KnownObjects(
    new Map([
      ["east ingresses", 3],
      ["east services", 1],
      ["east endpointslices", 1],
    ]),
  );
  return inIngressWorld(
    async (world) => {
      const { simulation, loop, applied } = world;
      await simulation.sleep(12_000);
      expect([loop.isReady, applied]).toEqual([false, []]);
      expect(loop.asked.watch("ingresses").doubt).toContain("0 of 3 known objects");
      // One that ends now would be compared with the same numbers again.
      expect(known.counts().get("east ingresses")).toBe(3);
      lose(world, 0);
      await simulation.sleep(12_000);
      expect(loop.isReady).toBe(true);
      expect(loop.decisions.routes.hosts.size).toBe(3);
    },
    {
      knownBefore: known,
      before: async (clusters, simulation) => {
        await threeRoutes(clusters, simulation);
        lose({ clusters }, 1);
      },
    },
  );
});

test("how many objects each watch shows is known, and stays known while it stops", () => {
  const known = new KnownObjects();
  return inIngressWorld(
    async () => {
      expect(Object.fromEntries(known.counts())).toMatchObject({
        "east ingresses": 3,
        "east services": 1,
        "east endpointslices": 1,
        "east secrets default metadata.name=web,type=kubernetes.io/tls": 1,
      });
      known.freeze();
    },
    { before: threeRoutes, knownBefore: known },
  ).then(() => expect(known.counts().get("east ingresses")).toBe(3));
});
