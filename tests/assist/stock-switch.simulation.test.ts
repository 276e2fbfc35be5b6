// The stock ingress while the endpoint controllers are behind: requests lost with the Service as the
// backend, then with its twin, then with the Service again. Nothing but the backend's name changes.
import { expect, test } from "vitest";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { Scene, settleMs } from "../../src/lab/incidents/scene.ts";
import type { Stage } from "../../src/lab/incidents/stage.ts";
import { VirtualStages } from "../../src/lab/incidents/virtual-stage.ts";
import { createFillerPod, fillerServices, releaseShop } from "../../src/lab/shop.ts";
import { AssistReplica } from "../../src/outputs/twins/assist-replica.ts";
import { isThorough } from "../../src/simulation/seeds.ts";

/** Few services and a low limit: a change waits as long as in the incident, 20 s behind all others. */
const services = 60;
const limits = { "kube-api-qps": 3, "kube-api-burst": 6 };

/** The queue has had its turn, and the release is over everywhere. */
const releaseMs = 60_000;

test.runIf(isThorough(process.env))(
  "the stock ingress loses fewer requests with the twin as its backend, and as many as before with the Service again",
  async () => {
    const { before, twin, back } = await playSwitch(1);
    // Stock itself syncs once in 3.3 s at most, so a few may be lost with the twin too.
    expect(before.lost).toBeGreaterThan(20);
    expect(twin.lost).toBeLessThan(before.lost / 10);
    expect(back.lost).toBeGreaterThan(20);
    for (const { requests } of [before, twin, back]) expect(requests).toBeGreaterThan(500);
  },
);

function playSwitch(seed: number) {
  return new VirtualStages({ seed }).open(async (stage) => {
    const scene = await Scene.open(stage, {
      cluster: { profile: "1.33", objects: fillerServices(services) },
      stockReads: "endpointslices",
      shop: { readyAfter: "2s" },
      beforeReplicas: createFillerPod,
      otherServices: services,
    });
    const stop = new AbortController();
    const replicas = ["assist-1", "assist-2"].map((machine) =>
      replicaOn(stage, scene, machine).run(stop.signal),
    );
    await scene.cluster.controlPlane.restart(limits);
    await stage.sleep(30_000);
    const before = await release(scene, "shop", 1);
    const twin = await release(scene, "shop-lockstep", 2);
    const back = await release(scene, "shop", 3);
    stop.abort(new Error("the play is over"));
    await Promise.all(replicas);
    await scene.stop();
    return { before: before.stock, twin: twin.stock, back: back.stock };
  });
}

/** Every other service has a change just before the release. */
async function release(scene: Scene, backend: string, number: number) {
  const { client, stage } = scene;
  await client.request({
    verb: "patch",
    method: "PATCH",
    path: "/apis/networking.k8s.io/v1/namespaces/default/ingresses/shop",
    contentType: "application/json-patch+json",
    body: [
      {
        op: "replace",
        path: "/spec/rules/0/http/paths/0/backend/service/name",
        value: backend,
      },
    ],
  });
  await stage.sleep(2 * settleMs);
  const traffic = scene.startTraffic();
  await createPod(client, `other-${number}`);
  // The pod is scheduled, started and ready, and all services wait in the queue.
  await stage.sleep(settleMs);
  await releaseShop(client, String(number));
  await stage.sleep(releaseMs);
  return await traffic.finish();
}

async function createPod(client: Scene["client"], name: string): Promise<void> {
  const containers = [{ name: "other", image: "other", ports: [{ containerPort: 8080 }] }];
  await client.request({
    verb: "create",
    method: "POST",
    path: "/api/v1/namespaces/default/pods",
    body: { metadata: { name, labels: { app: "other" } }, spec: { containers } },
  });
}

function replicaOn(stage: Stage, { cluster }: Scene, machine: string): AssistReplica {
  const environment = stage.environmentOf(machine);
  const client = () =>
    new HttpKubeClient({ ...environment, cluster: cluster.access, userAgent: machine });
  return new AssistReplica({
    ...environment,
    client: client(),
    leaseClient: client(),
    writeClient: client(),
    cluster: cluster.name,
    selection: { namespaces: new Set(), services: new Set(["default/shop"]) },
    lease: { namespace: "default", name: "lockstep-assist" },
    identity: `outside/${machine}`,
  });
}
