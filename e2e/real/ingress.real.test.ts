// `lockstep ingress` in front of a cluster whose control plane is real and whose pods our kubelets
// run: the promise of the rolling restart, with real controllers.
import { expect, it } from "vitest";
import { CountedTraffic, expectedFrom } from "../counted-traffic.ts";
import { IngressProcess } from "../ingress-process.ts";
import { withoutNginx } from "../proxy-world.ts";
import { ShopsWorld } from "../shops-world.ts";
import { startRealCluster } from "./harness/real-cluster.ts";

const requestsPerSecond = 60;

/** Long enough that a pod has a request under way when it is asked to end. */
const responseTime = { "lab.lockstep.dev/response-time": "50ms" };
const exitAtOnce = { "lab.lockstep.dev/on-term": "exit" };

/** The real controller collects changes for as long before it writes slices: the news comes late. */
const lateSlices = ["--endpointslice-updates-batch-period=60s", "--kube-api-qps=100"];

it.skipIf(withoutNginx !== false)(
  "restarts five deployments at once, twice, and loses no request, though slices come late",
  async () => {
    const cluster = await startRealCluster({
      name: "real",
      nodes: 2,
      controllerManagerFlags: lateSlices,
    });
    const annotations = (_: string, index: number) =>
      index % 2 === 0 ? responseTime : { ...responseTime, ...exitAtOnce };
    const world = await ShopsWorld.startIn(cluster, { shops: 5, replicas: 3, annotations });
    try {
      const replicas = [];
      for (const name of ["replica-1", "replica-2"]) {
        replicas.push(await IngressProcess.start(world, name));
      }
      const traffic = await CountedTraffic.start({ world, replicas, requestsPerSecond });
      let pods = await world.pods();
      expect(await traffic.servedThroughEvery(pods)).toEqual(expectedFrom(pods, replicas));
      for (const release of ["2", "3"]) {
        await world.roll(release);
        pods = await world.released(release);
        expect(await traffic.servedThroughEvery(pods)).toEqual(expectedFrom(pods, replicas));
      }
      await traffic.finish();
      expect(traffic.outcomes()).toEqual({ 200: traffic.sent });
    } finally {
      await world.stop();
    }
  },
);
