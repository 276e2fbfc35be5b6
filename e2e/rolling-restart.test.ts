// The promise in one test: fifty deployments are restarted under load, and no request is lost, though
// the slices come long after the pods that they name are gone. Most pods exit at once when they are
// asked to end, with whatever they have in their hands; the others finish their requests.
import { expect, it } from "vitest";
import { IngressReplica } from "../src/ingress/ingress-replica.ts";
import type { EntryReplica } from "../src/lab/traffic/entry.ts";
import { CountedTraffic, expectedFrom } from "./counted-traffic.ts";
import { withoutNginx } from "./proxy-world.ts";
import { ingressClass, ShopsWorld } from "./shops-world.ts";

const shops = 50;
const requestsPerSecond = 200;
/** Hosts and replicas are taken in turn: with two of these a host would always meet the same. */
const replicaNames = ["replica-1", "replica-2", "replica-3"];

/** Long enough that a pod has a request under way when it is asked to end. */
const responseTime = { "lab.lockstep.dev/response-time": "50ms" };
const exitAtOnce = { "lab.lockstep.dev/on-term": "exit" };

/** One in five finishes its requests. */
const drains = 5;

/** With the defaults the controllers themselves would take minutes for so many pods. */
const quickControllers = { "kube-api-qps": 500, "kube-api-burst": 1_000 };

/** Longer than the restart takes. */
const lateSlices = { ...quickControllers, "endpointslice-updates-batch-period": 120_000 };

it.skipIf(withoutNginx !== false)(
  "restarts fifty deployments at once and loses no request",
  async () => {
    const annotations = (_: string, index: number) =>
      index % drains === 0 ? responseTime : { ...responseTime, ...exitAtOnce };
    const options = { shops, replicas: 2, annotations, flags: quickControllers };
    const world = await ShopsWorld.start(options);
    try {
      const replicas: EntryReplica[] = [];
      for (const name of replicaNames) replicas.push(await startReplica(world, name));
      const traffic = await CountedTraffic.start({ world, replicas, requestsPerSecond });
      let pods = await world.pods();
      expect(await traffic.servedThroughEvery(pods)).toEqual(expectedFrom(pods, replicas));
      await world.cluster.controlPlane.restart(lateSlices);
      await world.roll("2");
      pods = await world.released("2");
      expect(await traffic.servedThroughEvery(pods)).toEqual(expectedFrom(pods, replicas));
      await traffic.finish();
      const { sent, entryCounts } = traffic;
      expect(traffic.outcomes()).toEqual({ 200: sent });
      expect(new Set(traffic.results.map(({ number }) => number)).size).toBe(sent);
      expect(entryCounts).toEqual({
        requests: sent,
        unserved: 0,
        replicas: replicaNames.map((name, index) => ({
          name,
          requests: Math.ceil((sent - index) / replicaNames.length),
          refused: 0,
          broken: 0,
        })),
      });
    } finally {
      await world.stop();
    }
  },
  300_000,
);

/** Resolves when it serves by the cluster's routes. */
async function startReplica(world: ShopsWorld, name: string): Promise<EntryReplica> {
  const { environment } = world;
  const port = await world.freePort();
  const { access } = world;
  const replica = new IngressReplica({
    environment,
    clusters: [access],
    access,
    className: ingressClass,
    policy: { followSlices: false },
    listen: [{ address: "127.0.0.1", port }],
    prefix: `${world.folder}/${name}`,
    workers: 2,
    status: { host: "127.0.0.1", port: 0 },
  });
  world.atStop(() => replica.stop({ keepNginx: false }));
  await replica.start();
  await world.until(`${name} is ready`, () => replica.notReadyBecause === undefined);
  return { name, address: `127.0.0.1:${port}` };
}
