// The promise in one test: deployments are restarted under load, and no request is lost, though the
// slices come long after the pods that they name are gone. Half of the pods finish their requests
// when they are asked to end, the other half exit at once.
import { expect, it } from "vitest";
import { IngressReplica } from "../src/ingress/ingress-replica.ts";
import type { EntryReplica } from "../src/lab/traffic/entry.ts";
import { CountedTraffic, expectedFrom } from "./counted-traffic.ts";
import { withoutNginx } from "./proxy-world.ts";
import { ingressClass, ShopsWorld } from "./shops-world.ts";

const requestsPerSecond = 100;
const replicaNames = ["replica-1", "replica-2", "replica-3"];

/** Long enough that a pod has a request under way when it is asked to end. */
const responseTime = { "lab.lockstep.dev/response-time": "50ms" };
const exitAtOnce = { "lab.lockstep.dev/on-term": "exit" };

/** Longer than both restarts take together. */
const lateSlices = { "endpointslice-updates-batch-period": 120_000 };

it.skipIf(withoutNginx !== false)(
  "restarts ten deployments at once, twice, and loses no request",
  async () => {
    const annotations = (_: string, index: number) =>
      index % 2 === 0 ? responseTime : { ...responseTime, ...exitAtOnce };
    const world = await ShopsWorld.start({ shops: 10, replicas: 3, annotations });
    try {
      const replicas: EntryReplica[] = [];
      for (const name of replicaNames) replicas.push(await startReplica(world, name));
      const traffic = await CountedTraffic.start({ world, replicas, requestsPerSecond });
      let pods = await world.pods();
      expect(await traffic.servedThroughEvery(pods)).toEqual(expectedFrom(pods, replicas));
      await world.cluster.controlPlane.restart(lateSlices);
      for (const release of ["2", "3"]) {
        await world.roll(release);
        pods = await world.released(release);
        expect(await traffic.servedThroughEvery(pods)).toEqual(expectedFrom(pods, replicas));
      }
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
