// A decision about one large object may take long: others do not wait for it.
import { expect, test } from "vitest";
import { forEachSeed } from "../../src/simulation/seeds.ts";
import { type IngressWorld, inIngressWorld } from "./ingress-world.ts";

const web = "default/web:80";
const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
const hostCount = 1_000;

/** A decision about the large Ingress takes some tens of these. */
const breathMs = 1;

async function webWithTwoPods({ east }: IngressWorld["clusters"]): Promise<void> {
  await east.service("web");
  await east.pod("web-1", "web", "10.0.0.1");
  await east.pod("web-2", "web", "10.0.0.2");
  await east.ingress("web", "web.example", "web");
}

async function createLarge({ east }: IngressWorld["clusters"]): Promise<void> {
  const backend = { service: { name: "web", port: { number: 80 } } };
  const http = { paths: [{ path: "/", pathType: "Prefix", backend }] };
  const rules = Array.from({ length: hostCount }, (_, at) => ({ host: `h${at}.example`, http }));
  await east.create(ingresses, {
    metadata: { name: "large" },
    spec: { ingressClassName: "lockstep", rules, tls: [{ secretName: "absent" }] },
  });
}

async function until({ simulation }: IngressWorld, isSo: () => boolean): Promise<void> {
  while (!isSo()) await simulation.sleep(1);
}

forEachSeed(
  "a pod that leaves while a large Ingress is decided is routed around before that is done",
  { seeds: 5 },
  (seed) =>
    inIngressWorld(
      async (world) => {
        const { loop, clusters, proxy, active, applied } = world;
        const before = applied.length;
        await createLarge(clusters);
        await until(world, () => loop.decisions.routes.hosts.size > 1);
        await clusters.east.deletePod("web-1");
        await until(world, () => active(web).length === 1);
        await until(world, () => !proxy.pusher.state.hasUnpushed);
        expect(applied.slice(before).map(({ routes }) => routes)).toEqual([false]);
        expect(loop.decidedRevision).toBeLessThan(loop.revision);
        await until(world, () => loop.decidedRevision === loop.revision);
        expect(loop.decisions.routes.hosts.size).toBe(hostCount + 1);
        expect(active(web)).toEqual(["east 10.0.0.2:8080"]);
      },
      { seed, breathMs, before: webWithTwoPods },
    ),
);

test("routes are decided though a large Ingress changes again before that is done", () =>
  inIngressWorld(
    async (world) => {
      const { loop, clusters, simulation } = world;
      await createLarge(clusters);
      let isOver = false;
      let changes = 0;
      const changing = (async () => {
        while (!isOver) {
          changes += 1;
          const annotations = { "lockstep.dev/proxy-body-size": `${changes}m` };
          await clusters.east.update(`${ingresses}/large`, { metadata: { annotations } });
          await simulation.sleep(1);
        }
      })();
      const wasUnderWay = new Set<boolean>();
      await until(world, () => loop.decisions.routes.hosts.size > 1);
      await clusters.east.ingress("other", "other.example", "web");
      await until(world, () => {
        wasUnderWay.add(loop.decidedRevision < loop.revision);
        return loop.decisions.routes.hosts.has("other.example");
      });
      isOver = true;
      await changing;
      expect([...wasUnderWay]).toEqual([true]);
    },
    { breathMs, before: webWithTwoPods },
  ));
