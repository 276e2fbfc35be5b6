// Two clusters share a service, and one of them is cut off from the ingress while it releases: its
// pods are replaced, and the ingress gets no event. Real nginx, real pods, traffic that never
// stops.
import { webcrypto } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiServer } from "../src/apiserver/api-server.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { type Lab, startLab } from "../src/lab/lab.ts";
import { CountedTraffic } from "./counted-traffic.ts";
import { IngressProcess } from "./ingress-process.ts";
import { withoutNginx } from "./proxy-world.ts";
import { isOfThisProcess, ShopsWorld } from "./shops-world.ts";

const requestsPerSecond = 60;
const podsEach = 3;

/** The user agent of the ingress at API servers; the release uses another. */
const ingressAgent = "lockstep-ingress";

/** Both serve in turn. */
const clusterArgs = ["--context", "lab-1", "--context", "lab-2", "--access-context", "lab-1"];
const args = [...clusterArgs, "--spread", "even"];

describe.skipIf(withoutNginx !== false)("with a service in two clusters", () => {
  let near: ShopsWorld;
  let far: ShopsWorld;
  let farServer: ApiServer;
  let replica: IngressProcess;
  beforeAll(async () => {
    const environment = nodeEnvironment({ log: { write: () => undefined } });
    const size = { clusters: 2, apiservers: 1, nodes: 2, host: "127.0.0.1", firstPort: 0 };
    const lab = await startLab({ environment, crypto: webcrypto, ...size, flags: {} });
    const shops = { shops: 1, replicas: podsEach };
    near = await ShopsWorld.startIn(
      hostIn(lab, 0, () => lab.stop()),
      shops,
    );
    far = await ShopsWorld.startIn(hostIn(lab, 1), shops);
    near.atStop(() => far.stop());
    farServer = serverOf(lab, 1);
    replica = await IngressProcess.start(near, "one", args);
  });
  afterAll(() => near?.stop());

  it("a cluster that is cut off while it releases costs no request, and then the state is right", async () => {
    await routedToAll();
    const traffic = await CountedTraffic.start({
      world: near,
      replicas: [replica],
      requestsPerSecond,
    });
    farServer.faults.setRules([{ match: { userAgent: ingressAgent }, resets: { rate: 1 } }]);
    farServer.faults.cache.resetWatches();
    await far.roll("2");
    await far.released("2");
    const sentBefore = traffic.sent;
    await near.until("requests meet the change", () => traffic.sent > sentBefore + 120);
    const unreachable = (await far.pods()).map(({ address }) => address);
    const routed = await replica.activeAddresses("default/shop-1:80");
    expect(unreachable.filter((address) => routed.has(address))).toEqual([]);
    farServer.faults.setRules([]);
    await routedToAll();
    const sentSince = traffic.sent;
    await near.until("some follow it", () => traffic.sent > sentSince + 60);
    await traffic.finish();
    expect(traffic.outcomes()).toEqual({ 200: traffic.sent });
    const answeredBy = traffic.results
      .filter(({ number }) => number > sentSince)
      .map(({ pod }) => pod?.address);
    expect(new Set(answeredBy)).toEqual(await addresses());
  });

  async function addresses(): Promise<ReadonlySet<string>> {
    const pods = [...(await near.pods()), ...(await far.pods())];
    return new Set(pods.map(({ address }) => address));
  }

  /** Waits until the replica routes to the pods of both clusters and to no others. */
  async function routedToAll(): Promise<void> {
    await near.until("it routes to the pods of both clusters", async () => {
      const active = await replica.activeAddresses("default/shop-1:80");
      return [...active].sort().join() === [...(await addresses())].sort().join();
    });
  }
});

function hostIn(lab: Lab, index: number, stop = () => Promise.resolve()) {
  const cluster = lab.clusters[index];
  if (cluster === undefined) throw new Error("the lab has too few clusters");
  return { access: cluster.access, contexts: lab.contexts, stop };
}

function serverOf(lab: Lab, index: number): ApiServer {
  const [server] = lab.clusters[index]?.servers ?? [];
  if (server === undefined || !isOfThisProcess(server)) {
    throw new Error("the lab's servers are processes of their own");
  }
  return server.apiServer;
}
