// Clusters that stop answering, or do not answer at the start, and the decisions about their
// endpoints, with the real loop, its watches and the twin of the proxy in virtual time.
import { describe, expect, test } from "vitest";
import type { UnreachablePolicy } from "../../src/decide/truth/truth-policy.ts";
import { rememberedWithinMs } from "../../src/ingress/ingress-loop.ts";
import type { RememberedEndpoint } from "../../src/model/remembered-endpoint.ts";
import { type IngressWorld, inIngressWorld, type WorldOptions } from "./ingress-world.ts";

const web = "default/web:80";
const aMomentMs = 100;

/** Longer than any watch stays fresh without its server, and the bound of the rule. */
const untilStaleMs = 30_000;
const untilUnreachableMs = 90_000;

const bothClusters: WorldOptions["before"] = async ({ east, west }) => {
  await east.service("web");
  await east.pod("web-1", "web", "10.0.0.1");
  await east.slice("web", { "web-1": "10.0.0.1" });
  await west.service("web");
  await west.pod("web-2", "web", "10.8.0.2");
  await west.slice("web", { "web-2": "10.8.0.2" });
  await east.ingress("web", "web.example", "web");
};

/** Every endpoint as `cluster state priority`. */
function rows({ loop }: IngressWorld): readonly string[] {
  const { endpoints = [] } = loop.decisions.truths.get(web)?.truth ?? {};
  return endpoints.map(({ cluster, state, priority = 0 }) => `${cluster} ${state} ${priority}`);
}

function reasonIn({ loop }: IngressWorld, cluster: string): string | undefined {
  const { endpoints = [] } = loop.decisions.truths.get(web)?.truth ?? {};
  return endpoints.find((one) => one.cluster === cluster)?.reason;
}

async function startPrograms({ proxy }: IngressWorld): Promise<void> {
  await proxy.program("n1", "10.0.0.1");
  await proxy.program("n2", "10.8.0.2");
}

const whole = ["east active 0", "west active 1"];

describe("a cluster that is cut off", () => {
  const table: readonly (readonly [UnreachablePolicy, readonly string[]])[] = [
    ["keep", whole],
    ["drop", ["east active 0", "west out 1"]],
    ["distrust", ["east active 0", "west active 4"]],
  ];
  test.each(table)(
    "is treated as the policy says (%s), and is as before when back",
    (unreachable, cut) =>
      inIngressWorld(
        async (world) => {
          const { simulation } = world;
          expect(rows(world)).toEqual(whole);
          simulation.network.isolate("api-west");
          await simulation.sleep(untilStaleMs);
          expect(rows(world)).toEqual(whole);
          expect(reasonIn(world, "west")).toMatch(/^its pod was ready, as last known: /);
          await simulation.sleep(untilUnreachableMs);
          expect(rows(world)).toEqual(cut);
          simulation.network.rejoin("api-west");
          await simulation.sleep(untilUnreachableMs);
          expect(rows(world)).toEqual(whole);
          expect(reasonIn(world, "west")).toBe("its pod is ready");
        },
        { before: bothClusters, policy: { followSlices: false, unreachable } },
      ),
  );

  test("is judged again when the policy changes, without a restart", () =>
    inIngressWorld(
      async (world) => {
        const { simulation, loop } = world;
        simulation.network.isolate("api-west");
        await simulation.sleep(untilUnreachableMs);
        loop.setPolicy({ followSlices: false, unreachable: "drop" });
        await simulation.sleep(aMomentMs);
        expect(rows(world)).toEqual(["east active 0", "west out 1"]);
        loop.setPolicy({ followSlices: false, unreachable: "drop", unreachableAfterMs: 600_000 });
        await simulation.sleep(aMomentMs);
        expect(rows(world)).toEqual(whole);
      },
      { before: bothClusters },
    ));

  test("remembers what its pods said last, not what its slices say", () =>
    inIngressWorld(
      async (world) => {
        const { simulation, clusters } = world;
        await clusters.west.podStatus("web-3", { podIP: "10.8.0.3" }, "False");
        await simulation.sleep(aMomentMs);
        expect(rows(world)).toEqual([...whole, "west out 1"]);
        simulation.network.isolate("api-west");
        await simulation.sleep(untilStaleMs);
        expect(rows(world)).toEqual([...whole, "west out 1"]);
      },
      {
        before: async (clusters, simulation) => {
          await bothClusters(clusters, simulation);
          await clusters.west.pod("web-3", "web", "10.8.0.3");
          const path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-x";
          const three = {
            addresses: ["10.8.0.3"],
            targetRef: await clusters.west.reference("web-3"),
          };
          const two = {
            addresses: ["10.8.0.2"],
            targetRef: await clusters.west.reference("web-2"),
          };
          await clusters.west.update(path, { endpoints: [two, three] });
        },
      },
    ));
});

describe("a cluster that does not answer at the start", () => {
  const known: RememberedEndpoint = { cluster: "west", address: "10.8.0.2", port: 8080 };
  const gone: RememberedEndpoint = { cluster: "west", address: "10.8.0.9", port: 8080 };
  const listedBefore: RememberedEndpoint = { cluster: "east", address: "10.0.0.9", port: 8080 };
  const silent: WorldOptions = {
    before: async (clusters, simulation) => {
      await bothClusters(clusters, simulation);
      simulation.network.isolate("api-west");
    },
    remembered: new Map([[web, [known, gone, listedBefore]]]),
  };

  test("serves with what is remembered, until it is listed", () =>
    inIngressWorld(async (world) => {
      const { simulation, active, proxy } = world;
      await startPrograms(world);
      await simulation.sleep(rememberedWithinMs + aMomentMs);
      expect(active(web)).toEqual([
        "east 10.0.0.1:8080",
        "west 10.8.0.2:8080",
        "west 10.8.0.9:8080",
      ]);
      expect(reasonIn(world, "west")).toBe(
        "it served before the start, and its cluster has not answered since",
      );
      // The pods here are gone and the other cluster stands in.
      simulation.network.isolate("n1");
      expect(await proxy.ask("web.example")).toBe("10.8.0.2");
      simulation.network.rejoin("api-west");
      await simulation.sleep(untilUnreachableMs);
      expect(active(web)).not.toContain("west 10.8.0.9:8080");
      expect(reasonIn(world, "west")).toMatch(/^its pod is ready/);
    }, silent));

  test("goes when it stays silent and that is what the policy says", () =>
    inIngressWorld(
      async (world) => {
        const { simulation, active } = world;
        await simulation.sleep(untilUnreachableMs);
        expect(active(web)).toEqual(["east 10.0.0.1:8080"]);
      },
      { ...silent, policy: { followSlices: false, unreachable: "drop" } },
    ));
});

test("when the local endpoints have all left, another cluster serves at once, and says why", () =>
  inIngressWorld(
    async (world) => {
      const { simulation, clusters, proxy } = world;
      await startPrograms(world);
      expect(await proxy.ask("web.example")).toBe("10.0.0.1");
      await clusters.east.deletePod("web-1");
      await simulation.sleep(aMomentMs);
      expect(await proxy.ask("web.example")).toBe("10.8.0.2");
      expect(reasonIn(world, "west")).toBe(
        "its pod is ready; it is used because no endpoint in east is available",
      );
    },
    { before: bothClusters },
  ));
