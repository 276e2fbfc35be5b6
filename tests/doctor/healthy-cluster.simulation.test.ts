// A healthy and busy cluster: rollouts, scaling, restarts of nodes and of the controller manager, two
// ingress controllers that write statuses. The doctor examines it at random moments of an hour and must
// find nothing above info.
import { describe, expect } from "vitest";
import { randomBetween } from "../../src/environment/random.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { GhostScene } from "../../src/lab/incidents/ghost-leader/play.ts";
import { writeUpSettings } from "../../src/lab/incidents/ghost-leader/settings.ts";
import type { Stage } from "../../src/lab/incidents/stage.ts";
import { releaseShop } from "../../src/lab/shop.ts";
import { forEachSeed, isThorough } from "../../src/simulation/seeds.ts";
import { aboveInfo, examine, minuteMs, onStage } from "./examined-cluster.ts";

/** In these no cause is built in. */
const profiles = ["1.17.13", "1.33"] as const;

const busyForMs = 60 * minuteMs;
const examinations = 3;

/** An hour takes half a minute, and a soak a hundred of them; a shorter check is beside `examineCluster`. */
const isRun = isThorough(process.env) || process.env["LOCKSTEP_SEED"] !== undefined;

describe.runIf(isRun)("an hour", () => {
  const options = { seeds: 1, regressions: [2, 7, 40, 44, 88, 125] };
  forEachSeed("has nothing above info in a healthy and busy cluster", options, (seed) =>
    onStage(beBusy, seed),
  );
});

async function beBusy(stage: Stage): Promise<void> {
  const profile = profiles[Math.floor(stage.random.next() * profiles.length)] ?? "1.33";
  const settings = { ...writeUpSettings, profile, nodes: 4, replicas: 2, ingresses: 3 };
  const scene = await GhostScene.open(stage, settings);
  const events = new AbortController();
  const busy = keepBusy(scene, stage, events.signal);
  for (let number = 1; number <= examinations; number += 1) {
    await stage.sleep(randomBetween(stage.random, 0, busyForMs / examinations - 2 * minuteMs));
    const operator = stage.environmentOf(`operator-${number}`);
    const seen = await examine(operator, scene.client, { forMs: minuteMs });
    const found = { live: aboveInfo(seen), offline: aboveInfo(seen.offline) };
    expect({ number, profile, ...found }).toEqual({ number, profile, live: [], offline: [] });
  }
  events.abort();
  await busy;
  await scene.stop();
}

async function keepBusy(scene: GhostScene, stage: Stage, signal: AbortSignal): Promise<void> {
  const { random } = stage;
  for (let number = 1; !signal.aborted; number += 1) {
    await stage.sleep(randomBetween(random, 10_000, 3 * minuteMs));
    if (signal.aborted) return;
    const choice = Math.floor(random.next() * 5);
    if (choice === 0) await scene.release(`release-${number}`);
    else if (choice === 1) await releaseShop(scene.client, String(number));
    else if (choice === 2) await scaleShop(scene.client, 1 + Math.floor(random.next() * 8));
    else if (choice === 3) await restartNode(scene, stage);
    else await scene.cluster.controlPlane.restart(scene.cluster.controlPlane.flags);
  }
}

async function scaleShop(client: KubeClient, replicas: number): Promise<void> {
  await client.request({
    verb: "patch",
    method: "PATCH",
    path: "/apis/apps/v1/namespaces/default/deployments/shop",
    contentType: "application/merge-patch+json",
    body: { spec: { replicas } },
  });
}

/** Up to a minute and a half without a heartbeat, as a machine takes to start. */
async function restartNode({ cluster, client }: GhostScene, stage: Stage): Promise<void> {
  const kubelet = cluster.kubelets[Math.floor(stage.random.next() * cluster.kubelets.length)];
  if (kubelet === undefined) return;
  kubelet.pauseHeartbeat();
  await stage.sleep(randomBetween(stage.random, 20_000, 90_000));
  const answer = await client.request({ verb: "list", method: "GET", path: "/api/v1/pods" });
  const { items } = JSON.parse(answer.body.toString("utf8")) as {
    items: readonly { metadata: { uid: string } }[];
  };
  for (const { metadata } of items) kubelet.crash(metadata.uid);
  kubelet.resumeHeartbeat();
}
