// The incidents that a real control plane of today can show, measured on it and predicted by the
// lab from the same settings. What a busy machine can make late is shown, not asserted; what the
// mechanism decides is.
import { describe, expect, it } from "vitest";
import { nodeEnvironment } from "../../../src/environment/node/node-environment.ts";
import { fixedAccess } from "../../../src/kube/credentials/credentials.ts";
import { startRealCluster } from "../harness/real-cluster.ts";
import { type RealControlPlane, startRealControlPlane } from "../harness/real-control-plane.ts";
import { ComparedFigures } from "./compared-figures.ts";
import { measureFight } from "./fight.ts";
import { measureFlaps } from "./flap.ts";
import { ghostLease, measureGhost } from "./ghost.ts";
import { createThrottlingObjects, measureThrottling, throttlingObjects } from "./throttling.ts";
import { inLab, send, type Trial, trialOn } from "./trial.ts";

const environment = nodeEnvironment({ log: { write: () => undefined } });
const begunAlready = () => Promise.resolve();
const compared = new ComparedFigures();

describe("a controller manager with a limit on its requests", () => {
  it.each([
    { services: 2_000, qps: 40, burst: 60, workers: 5 },
    { services: 2_000, qps: 40, burst: 60, workers: 30 },
    { services: 2_000, qps: 160, burst: 200, workers: 5 },
  ])("publishes $services services at $qps/s with $workers workers as the lab says", async (of) => {
    const { services, qps, burst, workers } = of;
    const predicted = await inLab(
      1,
      {
        objects: throttlingObjects(services),
        flags: {
          "kube-api-qps": qps,
          "kube-api-burst": burst,
          "concurrent-endpoint-syncs": workers,
          // Nobody speaks for the node.
          "node-startup-grace-period": 3_600_000,
        },
      },
      (trial) => measureThrottling(trial, of, begunAlready),
    );
    const measured = await onReal({}, async (trial, plane) => {
      await createThrottlingObjects(trial, services);
      return await measureThrottling(trial, of, async () => {
        await plane.startControllerManager(
          ["endpoints-controller"],
          [
            `--kube-api-qps=${qps}`,
            `--kube-api-burst=${burst}`,
            `--concurrent-endpoint-syncs=${workers}`,
          ],
        );
      });
    });
    const settings = `${services} services, ${qps}/s, burst ${burst}, ${workers} workers`;
    const incident = "throttled-controller";
    compared.add({
      incident,
      settings,
      figure: "Endpoints a second",
      predicted: predicted.perSecond,
      measured: measured.perSecond,
    });
    compared.add({
      incident,
      settings,
      figure: "all published after, s",
      predicted: predicted.drainSeconds,
      measured: measured.drainSeconds,
    });
    compared.add({
      incident,
      settings,
      figure: "a change made half-way is published after, s",
      predicted: predicted.lagSeconds,
      measured: measured.lagSeconds,
    });
    // The limit can never be exceeded; below it there is only the machine.
    expect(measured.perSecond).toBeLessThan(qps * 1.1);
    expect(predicted.perSecond).toBeLessThan(qps * 1.1);
  });
});

describe("API servers that each believe to be the only one", () => {
  it("fight over the kubernetes Endpoints as the lab says", async () => {
    const windowMs = 60_000;
    const servers = 3;
    const predicted = await inLab(
      1,
      {
        ports: Array.from({ length: servers }, () => 6443),
        serverAddressOf: (server) =>
          `10.201.255.${server.endsWith("-2") ? 2 : server.endsWith("-3") ? 3 : 1}`,
        kubernetesService: { reconcilerType: "master-count", apiserverCount: 1 },
      },
      (trial) => measureFight(trial, windowMs),
    );
    const flags = ["--endpoint-reconciler-type=master-count", "--apiserver-count=1"];
    const measured = await onReal({ apiServers: servers, apiServerFlags: flags }, (trial) =>
      measureFight(trial, windowMs),
    );
    const settings = "3 servers, --endpoint-reconciler-type=master-count --apiserver-count=1";
    const incident = "apiserver-fight";
    compared.add({
      incident,
      settings,
      figure: "changes a minute",
      predicted: predicted.changesPerMinute,
      measured: measured.changesPerMinute,
    });
    compared.add({
      incident,
      settings,
      figure: "servers named at once, at most",
      predicted: predicted.mostNamed,
      measured: measured.mostNamed,
    });
    expect(measured).toMatchObject({
      mostNamed: predicted.mostNamed,
      everNamed: predicted.everNamed,
    });
  });
});

describe("kubelets that report late", () => {
  it("are called unknown as often as the lab says", async () => {
    const nodes = 10;
    const gap = { minMs: 4_000, maxMs: 10_000 };
    const gaps = { status: gap, lease: gap };
    const flags = { "node-monitor-grace-period": 8_000, "node-monitor-period": 1_000 };
    const predicted = await inLab(1, { nodes, heartbeatGaps: gaps, flags }, (trial) =>
      measureFlaps(trial, { settleMs: 60_000, windowMs: 3_600_000 }),
    );
    const cluster = await startRealCluster({
      name: "real",
      nodes,
      heartbeatGaps: gaps,
      controllers: ["node-lifecycle-controller"],
      controllerManagerFlags: ["--node-monitor-grace-period=8s", "--node-monitor-period=1s"],
    });
    try {
      const measured = await measureFlaps(trialOn(environment, cluster.access), {
        settleMs: 20_000,
        windowMs: 150_000,
      });
      const settings = "10 nodes, a heartbeat each 4–10 s, grace 8 s, monitored each second";
      compared.add({
        incident: "heartbeat-flap",
        settings,
        figure: "flaps for each heartbeat",
        predicted: predicted.flapsPerHeartbeat,
        measured: measured.flapsPerHeartbeat,
      });
      expect(predicted.flaps).toBeGreaterThan(0);
      expect(measured.flaps).toBeGreaterThan(0);
    } finally {
      await cluster.stop();
    }
  });
});

describe("a ghost that holds the managers' lock", () => {
  it("keeps every manager from leading for as long as it renews, as the lab says", async () => {
    const renewals = 12;
    const predictions = [];
    for (const seed of [1, 2, 3, 4, 5]) {
      const objects = [{ ...ghostLease(environment) }];
      const flags = { "leader-elect": true };
      predictions.push(
        await inLab(seed, { objects, flags }, (trial) =>
          measureGhost(trial, renewals, begunAlready),
        ),
      );
    }
    const measured = await onReal({}, async (trial, plane) => {
      await send(
        trial,
        "POST",
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
        ghostLease(trial),
      );
      return await measureGhost(trial, renewals, async () => {
        await plane.startControllerManager(["endpoints-controller"], ["--leader-elect=true"]);
      });
    });
    const taken = predictions.map(({ takenAfterSeconds }) => takenAfterSeconds);
    compared.add({
      incident: "ghost-leader",
      settings: "lease 15 s, renewed each 2 s, 12 times",
      figure: "the lock is taken after the last renewal, s",
      predicted: [Math.min(...taken), Math.max(...taken)],
      measured: measured.takenAfterSeconds,
    });
    for (const { ledMeanwhile } of [...predictions, measured]) expect(ledMeanwhile).toBe(false);
  });
});

async function onReal<Figure>(
  options: Parameters<typeof startRealControlPlane>[0],
  experiment: (trial: Trial, plane: RealControlPlane) => Promise<Figure>,
): Promise<Figure> {
  const plane = await startRealControlPlane(options);
  const { url, ca, token } = plane;
  const access = fixedAccess({ name: "real", server: url, token, tls: { ca } });
  try {
    return await experiment(trialOn(environment, access), plane);
  } finally {
    await plane.stop();
  }
}
