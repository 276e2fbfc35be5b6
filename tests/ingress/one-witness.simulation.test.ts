// One source alone reports many removals, or an address that another pod has: from the watch to the
// proxy, in virtual time. Programs answer at the pods' addresses, whatever the API has.
import { describe, expect, test } from "vitest";
import { probeEveryMs } from "../../src/sources/probes.ts";
import { type IngressWorld, inIngressWorld, type WorldOptions } from "./ingress-world.ts";

const web = "default/web:80";
const aMomentMs = 100;
const addresses = ["10.0.0.1", "10.0.0.2", "10.0.0.3"] as const;
const all = addresses.map((address) => `east ${address}:8080`);
const slicePath = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-x";

const threePods: WorldOptions["before"] = async ({ east }) => {
  await east.service("web");
  for (const [index, address] of addresses.entries()) {
    await east.pod(`web-${index + 1}`, "web", address);
  }
  await east.slice(
    "web",
    Object.fromEntries(addresses.map((address, index) => [`web-${index + 1}`, address])),
  );
  await east.ingress("web", "web.example", "web");
};

async function startPrograms({ proxy }: IngressWorld): Promise<void> {
  for (const [index, address] of addresses.entries()) await proxy.program(`n${index + 1}`, address);
}

function states({ loop }: IngressWorld): readonly string[] {
  const { endpoints = [] } = loop.decisions.truths.get(web)?.truth ?? {};
  return endpoints.map(({ state, rule }) => `${state} (${rule})`);
}

const held = "held (no mass removal on one witness)";
const left = "out (leave at once)";

async function makeUnready({ clusters }: IngressWorld): Promise<void> {
  for (const [index] of addresses.entries()) {
    await clusters.east.podStatus(`web-${index + 1}`, {}, "False");
  }
}

describe("when every pod is reported as unready at once while the slices list them", () => {
  test("those that answer are held until the slices agree", () =>
    inIngressWorld(
      async (world) => {
        const { simulation, clusters, overrides, proxy, loop } = world;
        await startPrograms(world);
        await makeUnready(world);
        await simulation.sleep(aMomentMs);
        expect(states(world)).toEqual([held, held, held]);
        await simulation.sleep(60_000);
        expect(states(world)).toEqual([held, held, held]);
        expect(addresses).toContain(await proxy.ask("web.example"));
        await clusters.east.update(slicePath, { endpoints: [] });
        await simulation.sleep(aMomentMs);
        expect(states(world)).toEqual([left, left, left]);
        expect(await proxy.ask("web.example")).toBe("503");
        const standing = overrides.entries().filter(({ lastedMs }) => lastedMs === undefined);
        expect([loop.probes.size, standing]).toEqual([0, []]);
      },
      { before: threePods },
    ));

  test("those that do not answer are out, as soon as that is known", () =>
    inIngressWorld(
      async (world) => {
        const { simulation, active } = world;
        await world.proxy.program("n1", addresses[0]);
        await makeUnready(world);
        await simulation.sleep(3 * probeEveryMs);
        const out = "out (no mass removal on one witness)";
        expect(states(world)).toEqual([held, out, out]);
        expect(active(web)).toEqual([]);
        expect(await world.proxy.ask("web.example")).toBe(addresses[0]);
      },
      { before: threePods },
    ));

  test("they are believed to be when the watch has said so for minutes", () =>
    inIngressWorld(
      async (world) => {
        const { simulation, loop } = world;
        await startPrograms(world);
        await makeUnready(world);
        await simulation.sleep(4 * 60_000);
        const believed = "out (no mass removal on one witness)";
        expect(states(world)).toEqual([believed, believed, believed]);
        expect(loop.probes.size).toBe(3);
      },
      { before: threePods },
    ));
});

test("a list that comes without the pods is not believed while they answer", () =>
  inIngressWorld(
    async (world) => {
      const { simulation, clusters, active } = world;
      await startPrograms(world);
      const { cache } = clusters.east.server.faults;
      cache.cacheLagMs = Number.POSITIVE_INFINITY;
      for (const name of ["web-1", "web-2", "web-3"]) {
        await clusters.east.deletePod(name, { graceSeconds: 0 });
      }
      // The watch is found to be behind, and all pods are listed again.
      await simulation.sleep(120_000);
      expect(states(world)).toEqual([held, held, held]);
      simulation.network.isolate("n1");
      await simulation.sleep(4 * probeEveryMs);
      expect(states(world)).toEqual(["out (no mass removal on one witness)", held, held]);
      expect(active(web)).toEqual([]);
    },
    { before: threePods },
  ));

test("pods that are deleted leave at once, though they are all there were", () =>
  inIngressWorld(
    async (world) => {
      const { simulation, clusters, active } = world;
      await startPrograms(world);
      for (const name of ["web-1", "web-2", "web-3"]) {
        await clusters.east.deletePod(name, { graceSeconds: 0 });
      }
      await clusters.east.pod("web-4", "web", "10.0.0.4");
      await simulation.sleep(aMomentMs);
      expect(active(web)).toEqual(["east 10.0.0.4:8080"]);
      expect(states(world)).toEqual([left, left, left, "active (join at once)"]);
    },
    { before: threePods },
  ));

test("an address that another pod takes over gets no more requests for the old one, at once", () =>
  inIngressWorld(
    async (world) => {
      const { simulation, clusters, active, overrides } = world;
      await startPrograms(world);
      expect(active(web)).toEqual(all);
      await simulation.sleep(5_000);
      await clusters.east.pod("shop-1", "shop", addresses[0]);
      await simulation.sleep(aMomentMs);
      expect(active(web)).toEqual(all.slice(1));
      expect(
        overrides.entries().map(({ endpoint }) => `${endpoint.rule}: ${endpoint.reason}`),
      ).toEqual([
        "know the address's owner: its address now belongs to another pod, default/shop-1, " +
          "but its EndpointSlice still lists it as ready",
      ]);
      await clusters.east.deletePod("shop-1", { graceSeconds: 0 });
      await simulation.sleep(aMomentMs);
      expect(active(web)).toEqual(all);
    },
    { before: threePods },
  ));

test("all services follow their slices, and truth again, when the policy changes", () =>
  inIngressWorld(
    async ({ simulation, clusters, loop, active }) => {
      await clusters.east.deletePod("web-1");
      await simulation.sleep(aMomentMs);
      expect(active(web)).toEqual(all.slice(1));
      loop.setPolicy({ followSlices: true });
      await simulation.sleep(aMomentMs);
      expect(active(web)).toEqual(all);
      loop.setPolicy({ followSlices: false });
      await simulation.sleep(aMomentMs);
      expect(active(web)).toEqual(all.slice(1));
    },
    { before: threePods },
  ));

test("one service follows its slices, and truth again, when its annotation changes", () =>
  inIngressWorld(
    async ({ simulation, clusters, active }) => {
      const annotate = async (value: string | null) => {
        const annotations = { "lockstep.dev/follow-slices": value };
        await clusters.east.update("/api/v1/namespaces/default/services/web", {
          metadata: { annotations },
        });
        await simulation.sleep(aMomentMs);
      };
      await clusters.east.deletePod("web-1");
      await annotate("true");
      expect(active(web)).toEqual(all);
      await annotate(null);
      expect(active(web)).toEqual(all.slice(1));
    },
    { before: threePods },
  ));
