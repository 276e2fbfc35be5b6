// The incidents that a real control plane of today can show, measured on it and predicted by the
// lab from the same settings. Each figure of the two must agree, within what chance and a busy machine
// may add.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeEnvironment } from "../../../src/environment/node/node-environment.ts";
import { type ClusterAccess, fixedAccess } from "../../../src/kube/credentials/credentials.ts";
import { startRealCluster } from "../harness/real-cluster.ts";
import { type RealControlPlane, startRealControlPlane } from "../harness/real-control-plane.ts";
import type { RealProcess } from "../harness/real-process.ts";
import { byChance, ComparedFigures } from "./compared-figures.ts";
import { type FightFigures, measureFight } from "./fight.ts";
import { type FlapFigures, measureFlaps } from "./flap.ts";
import { type GhostFigures, ghostLease, measureGhost } from "./ghost.ts";
import {
  createThrottlingObjects,
  forgetPublished,
  measureThrottling,
  throttlingObjects,
} from "./throttling.ts";
import { inLab, send, type Trial, trialOn } from "./trial.ts";

const environment = nodeEnvironment({ log: { write: () => undefined } });
const begunAlready = () => Promise.resolve();
const compared = new ComparedFigures();

describe("a controller manager with a limit on its requests", () => {
  const services = 2_000;
  let plane: RealControlPlane;
  let trial: Trial;
  beforeAll(async () => {
    plane = await startRealControlPlane();
    trial = trialOn(environment, accessTo(plane));
    await createThrottlingObjects(trial, services);
  });
  afterAll(async () => {
    await plane?.stop();
  });

  it.each([
    { qps: 80, burst: 100, workers: 5 },
    { qps: 80, burst: 100, workers: 30 },
    { qps: 200, burst: 250, workers: 5 },
  ])("publishes 2,000 services at $qps/s with $workers workers as the lab says", async (of) => {
    const { qps, burst, workers } = of;
    const flags = {
      "kube-api-qps": qps,
      "kube-api-burst": burst,
      "concurrent-endpoint-syncs": workers,
    };
    const objects = throttlingObjects(services);
    // The node has no kubelet.
    const patient = { "node-startup-grace-period": 3_600_000 };
    const predicted = await inLab(1, { objects, flags: { ...flags, ...patient } }, (lab) =>
      measureThrottling(lab, { services, burst }, begunAlready),
    );
    await forgetPublished(trial);
    const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
    const managers: RealProcess[] = [];
    const measured = await measureThrottling(trial, { services, burst }, async () => {
      const manager = await plane.startControllerManager(["endpoints-controller"], args);
      managers.push(manager.process);
    });
    for (const manager of managers) await manager.stop();
    const about = {
      incident: "throttled-controller",
      settings: `${services} services, ${qps}/s, burst ${burst}, ${workers} workers`,
    };
    for (const [figure, id] of [
      ["Endpoints a second", "perSecond"],
      ["all published, s", "drainSeconds"],
      ["a change half-way, s", "lagSeconds"],
    ] as const) {
      const [lab, real] = [predicted[id], measured[id]];
      compared.add(about, figure, lab, real, lab * machineShare);
    }
    // The limit can never be exceeded; below it there is only the machine. A second for delivery.
    for (const { drainSeconds } of [measured, predicted]) {
      expect(services).toBeLessThanOrEqual(burst + qps * (drainSeconds + 1));
    }
  });
});

/** Of a time that the limit decides; the recorded runs differ by up to a tenth. */
const machineShare = 0.2;

const fight = { servers: 3, windowMs: 60_000 };
const flap = {
  nodes: 40,
  gap: { minMs: 4_000, maxMs: 10_000 },
  flags: { "node-monitor-grace-period": 8_000, "node-monitor-period": 1_000 },
};

/** A candidate tries each 2 s with jitter: five seeds do not show the whole range. */
const retrySeconds = 2;

const ghost = { renewals: 12, seeds: [1, 2, 3, 4, 5] };

it("shows the fight, the flapping nodes and the ghost leader as the lab says", async () => {
  const predicted = {
    fight: await predictFight(),
    flap: await predictFlaps(),
    ghosts: await predictGhosts(),
  };
  // Each spends its time waiting, so they can do so together.
  const [fought, flapped, haunted] = await Promise.all([
    fightForReal(),
    flapForReal(),
    hauntForReal(),
  ]);
  const ofFight = {
    incident: "apiserver-fight",
    settings: "3 servers, --endpoint-reconciler-type=master-count --apiserver-count=1",
  };
  const { changesPerMinute, mostNamed, everNamed } = predicted.fight;
  // A change at the edge of the window falls in or out.
  compared.add(ofFight, "changes a minute", changesPerMinute, fought.changesPerMinute, 1);
  compared.add(ofFight, "servers named at once, at most", mostNamed, fought.mostNamed, 0);
  expect(fought).toMatchObject({ mostNamed, everNamed });

  const ofFlap = {
    incident: "heartbeat-flap",
    settings: "40 nodes, a heartbeat each 4–10 s, grace 8 s, monitored each second",
  };
  const [lab, real] = [predicted.flap, flapped];
  const chance = byChance(lab.flapsPerHeartbeat, lab.heartbeats, real.heartbeats);
  const shares = [lab.flapsPerHeartbeat, real.flapsPerHeartbeat] as const;
  compared.add(ofFlap, "flaps for each heartbeat", ...shares, chance);

  const ofGhost = {
    incident: "ghost-leader",
    settings: "lease 15 s, renewed each 2 s, 12 times",
  };
  const after = predicted.ghosts.map(({ takenAfterSeconds }) => takenAfterSeconds);
  const range = [Math.min(...after), Math.max(...after)] as const;
  const taken = "lock taken after the last renewal, s";
  compared.add(ofGhost, taken, range, haunted.takenAfterSeconds, retrySeconds);
  for (const { ledMeanwhile } of [...predicted.ghosts, haunted]) expect(ledMeanwhile).toBe(false);
});

function predictFight(): Promise<FightFigures> {
  const serverNames = Array.from({ length: fight.servers }, (_, index) =>
    index === 0 ? "lab" : `lab-server-${index + 1}`,
  );
  const options = {
    ports: serverNames.map(() => 6443),
    serverAddressOf: (server: string) => `10.201.255.${serverNames.indexOf(server) + 1}`,
    kubernetesService: { reconcilerType: "master-count", apiserverCount: 1 },
  } as const;
  return inLab(1, options, (trial) => measureFight(trial, fight.windowMs));
}

function fightForReal(): Promise<FightFigures> {
  const apiServerFlags = ["--endpoint-reconciler-type=master-count", "--apiserver-count=1"];
  return onReal({ apiServers: fight.servers, apiServerFlags }, (trial) =>
    measureFight(trial, fight.windowMs),
  );
}

function predictFlaps(): Promise<FlapFigures> {
  const { nodes, gap, flags } = flap;
  const options = { nodes, flags, heartbeatGaps: { status: gap, lease: gap } };
  const times = { settleMs: 60_000, windowMs: 1_200_000 };
  return inLab(1, options, (trial) => measureFlaps(trial, times));
}

async function flapForReal(): Promise<FlapFigures> {
  const { nodes, gap, flags } = flap;
  const cluster = await startRealCluster({
    name: "real",
    nodes,
    heartbeatGaps: { status: gap, lease: gap },
    controllers: ["node-lifecycle-controller"],
    controllerManagerFlags: Object.entries(flags).map(([flag, ms]) => `--${flag}=${ms}ms`),
  });
  try {
    const times = { settleMs: 20_000, windowMs: 120_000 };
    return await measureFlaps(trialOn(environment, cluster.access), times);
  } finally {
    await cluster.stop();
  }
}

async function predictGhosts(): Promise<readonly GhostFigures[]> {
  const figures: GhostFigures[] = [];
  const options = { objects: [ghostLease(environment)], flags: { "leader-elect": true } };
  for (const seed of ghost.seeds) {
    const measure = (trial: Trial) => measureGhost(trial, ghost.renewals, begunAlready);
    figures.push(await inLab(seed, options, measure));
  }
  return figures;
}

function hauntForReal(): Promise<GhostFigures> {
  return onReal({}, async (trial, plane) => {
    const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    await send(trial, "POST", leases, ghostLease(trial));
    return await measureGhost(trial, ghost.renewals, async () => {
      await plane.startControllerManager(["endpoints-controller"], ["--leader-elect=true"]);
    });
  });
}

async function onReal<Figure>(
  options: Parameters<typeof startRealControlPlane>[0],
  experiment: (trial: Trial, plane: RealControlPlane) => Promise<Figure>,
): Promise<Figure> {
  const plane = await startRealControlPlane(options);
  try {
    return await experiment(trialOn(environment, accessTo(plane)), plane);
  } finally {
    await plane.stop();
  }
}

function accessTo({ url, ca, token }: RealControlPlane): ClusterAccess {
  return fixedAccess({ name: "real", server: url, token, tls: { ca } });
}
