import { expect, test } from "vitest";
import { type IngressWorld, inIngressWorld } from "../../tests/ingress/ingress-world.ts";
import { monotonicAfter } from "../environment/clock.ts";
import { forEachSeed } from "../simulation/seeds.ts";

const web = "default/web:80";

/** Two messages of the network at most lie between the API server's answer and the decision. */
const aMomentMs = 20;

/** Shorter than a message takes. */
const stepMs = 0.1;

async function webWithTwoPods({ east }: IngressWorld["clusters"]): Promise<void> {
  await east.service("web");
  await east.pod("web-1", "web", "10.0.0.1");
  await east.pod("web-2", "web", "10.0.0.2");
  await east.slice("web", { "web-1": "10.0.0.1", "web-2": "10.0.0.2" });
  await east.ingress("web", "web.example", "web");
}

const both = ["east 10.0.0.1:8080", "east 10.0.0.2:8080"];

forEachSeed(
  "a deleted pod is routed around within milliseconds, though the slice still lists it",
  { seeds: 20 },
  (seed) =>
    inIngressWorld(
      async ({ simulation, clusters, active, nextApplied, overrides }) => {
        expect(active(web)).toEqual(both);
        const applied = nextApplied();
        await clusters.east.deletePod("web-1");
        const deletedAtMs = simulation.now();
        expect((await applied).atMs - deletedAtMs).toBeLessThan(aMomentMs);
        expect(active(web)).toEqual(["east 10.0.0.2:8080"]);
        expect(
          overrides.entries().map(({ endpoint, lastedMs }) => [endpoint.reason, lastedMs]),
        ).toEqual([
          ["its pod is terminating, but its EndpointSlice still lists it as ready", undefined],
        ]);
      },
      { seed, before: webWithTwoPods },
    ),
);

test("a pod that becomes unready leaves, and joins again when it is ready", () =>
  inIngressWorld(
    async ({ clusters, active, nextApplied }) => {
      const left = nextApplied();
      await clusters.east.podStatus("web-1", {}, "False");
      await left;
      expect(active(web)).toEqual(["east 10.0.0.2:8080"]);
      const joined = nextApplied();
      await clusters.east.podStatus("web-1", {}, "True");
      await joined;
      expect(active(web)).toEqual(both);
    },
    { before: webWithTwoPods },
  ));

test("a new pod joins before any slice lists it, and a cluster adds its pods to the same service", () =>
  inIngressWorld(
    async ({ simulation, clusters, active }) => {
      await clusters.east.pod("web-3", "web", "10.0.0.3");
      await clusters.west.service("web");
      await clusters.west.pod("web-1", "web", "10.8.0.1");
      await simulation.sleep(aMomentMs);
      expect(active(web)).toEqual([...both, "east 10.0.0.3:8080", "west 10.8.0.1:8080"]);
    },
    { before: webWithTwoPods },
  ));

test("following the slices, a deleted pod stays until the slice drops it", () =>
  inIngressWorld(
    async ({ simulation, clusters, active, applied }) => {
      const before = applied.length;
      await clusters.east.deletePod("web-1");
      await simulation.sleep(60_000);
      expect(active(web)).toEqual(both);
      expect(applied.length).toBe(before);
    },
    { before: webWithTwoPods, policy: { followSlices: true } },
  ));

test("a pod that was gone before the start is not believed, though a slice names it", () =>
  inIngressWorld(
    async ({ active }) => {
      expect(active(web)).toEqual(["east 10.0.0.2:8080"]);
    },
    {
      before: async (clusters) => {
        await webWithTwoPods(clusters);
        await clusters.east.deletePod("web-1", { graceSeconds: 0 });
      },
    },
  ));

test("without permission to watch pods the slices are followed, and each endpoint says so", () =>
  inIngressWorld(
    async ({ loop, active }) => {
      expect(active(web)).toEqual(both);
      const reasons = loop.decisions.truths.get(web)?.truth.endpoints.map(({ reason }) => reason);
      const reason =
        "its EndpointSlice lists it as ready, and there is no permission to watch pods";
      expect(reasons).toEqual([reason, reason]);
      expect(loop.sources[0]?.lost).toEqual([
        "endpoints change only when the EndpointSlices change",
        "endpoints are not kept when their node flaps",
        "an address that moves to another pod is not detected",
        "there is no protection against slices that lose most endpoints at once",
      ]);
    },
    { before: webWithTwoPods, forbidden: "pods" },
  ));

test("routes come and go with their Ingress, and a status write is not pushed", () =>
  inIngressWorld(
    async ({ simulation, clusters, loop, applied }) => {
      const path = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
      await clusters.east.service("shop");
      await clusters.east.ingress("shop", "shop.example", "shop");
      await simulation.sleep(aMomentMs);
      expect([...loop.decisions.routes.hosts.keys()].sort()).toEqual([
        "shop.example",
        "web.example",
      ]);
      expect(applied.at(-1)).toMatchObject({ routes: true, services: ["default/shop:80"] });
      const before = applied.length;
      const status = { loadBalancer: { ingress: [{ ip: "10.1.1.1" }] } };
      await clusters.east.update(`${path}/shop/status`, { status });
      await simulation.sleep(aMomentMs);
      expect(applied.length).toBe(before);
      await clusters.east.update(`${path}/shop`, { spec: { ingressClassName: "other" } });
      await simulation.sleep(aMomentMs);
      expect([...loop.decisions.routes.hosts.keys()]).toEqual(["web.example"]);
      expect([...loop.decisions.truths.keys()]).toEqual([web]);
    },
    { before: webWithTwoPods },
  ));

test("an Ingress that comes alone is decided at once, and those after it together", () =>
  inIngressWorld(
    async ({ simulation, clusters, loop, applied }) => {
      await simulation.sleep(1_000);
      const before = applied.length;
      const revision = loop.revision;
      await clusters.east.ingress("first", "first.example", "web");
      while (loop.revision === revision) await simulation.sleep(stepMs);
      await simulation.sleep(stepMs);
      expect(applied.length - before).toBe(1);
      const more = Array.from({ length: 10 }, (_, index) => `more-${index}`);
      await Promise.all(more.map((name) => clusters.east.ingress(name, `${name}.example`, "web")));
      await simulation.sleep(1_000);
      expect(loop.decisions.routes.hosts.size).toBe(2 + more.length);
      expect(applied.length - before).toBeLessThan(more.length);
    },
    { before: webWithTwoPods },
  ));

test("a pod that is gone stays out, though a slice that names it is written after that", () =>
  inIngressWorld(
    async ({ simulation, clusters, active }) => {
      await clusters.east.deletePod("web-1", { graceSeconds: 0 });
      const path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-x";
      await clusters.east.update(path, { metadata: { annotations: { written: "late" } } });
      await simulation.sleep(aMomentMs);
      expect(active(web)).toEqual(["east 10.0.0.2:8080"]);
    },
    { before: webWithTwoPods },
  ));

test("the first decision is applied also without any Ingress, so that an old proxy drops its routes", () =>
  inIngressWorld(async ({ applied }) => {
    expect(applied.map(({ routes, services }) => ({ routes, services }))).toEqual([
      { routes: true, services: [] },
    ]);
  }));

test("when the pod watch goes stale the slices are followed, and when it is back the pods again", () =>
  inIngressWorld(
    async ({ simulation, clusters, active, loop }) => {
      const { faults } = clusters.east.server;
      await clusters.east.podStatus("web-1", {}, "False");
      await simulation.sleep(aMomentMs);
      expect(active(web)).toEqual(["east 10.0.0.2:8080"]);
      const match = { resource: "pods", userAgent: "lockstep" };
      faults.setRules([{ match, errors: { rate: 1, code: 503 } }]);
      faults.cache.resetWatches(({ resource }) => resource === "pods");
      await simulation.sleep(30_000);
      expect(loop.sources[0]?.watch("pods").state).toBe("stale");
      expect(active(web)).toEqual(both);
      faults.setRules([]);
      await simulation.sleep(60_000);
      expect(loop.sources[0]?.watch("pods").state).toBe("fresh");
      expect(active(web)).toEqual(["east 10.0.0.2:8080"]);
    },
    { before: webWithTwoPods },
  ));

test("others get their turn while every service is decided again", () => {
  const names = Array.from({ length: 40 }, (_, index) => `s${index}`);
  let spentMs = 0;
  return inIngressWorld(
    async ({ simulation, loop, applied }) => {
      const before = applied.length;
      loop.setPolicy({ followSlices: true });
      await simulation.sleep(0);
      const meanwhile = applied.length - before;
      await simulation.sleep(1);
      expect([meanwhile < names.length / 2, applied.length - before]).toEqual([true, names.length]);
    },
    {
      // Each look at the clock costs a millisecond: unlike in a simulation, computing takes time.
      clock: (clock) => ({
        ...clock,
        wallMs: () => clock.wallMs(),
        monotonicMs: () => {
          spentMs += 1;
          return monotonicAfter(clock.monotonicMs(), spentMs);
        },
      }),
      before: async ({ east }) => {
        for (const [index, name] of names.entries()) {
          await east.service(name);
          await east.pod(`${name}-1`, name, `10.0.0.${index + 1}`);
          await east.ingress(name, `${name}.example`, name);
        }
      },
    },
  );
});
