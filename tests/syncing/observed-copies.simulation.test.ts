// The observer beside a syncer: a copy is matched with its pod, whether it comes before or after the
// controller's slice, and each change has all its hops.
import { expect, test } from "vitest";
import { Observer } from "../../src/observe/observer.ts";
import type { Journey } from "../../src/timeline/journey.ts";
import { inSyncWorld, slicesPath } from "./sync-world.ts";

const podsPath = "/api/v1/namespaces/shop/pods";

test("a pod's addition and removal are copied before they are published, and have every hop", () =>
  inSyncWorld(async (world) => {
    const { simulation } = world;
    await world.publish("lab-1", "web", []);
    world.startSyncer({ sources: [world.cluster("lab-1")] });
    const over: Journey[] = [];
    const observer = new Observer({
      ...simulation.host("observer"),
      clusters: [{ cluster: "lab-1", client: world.client("lab-1", "observer") }],
      accessClusters: [{ cluster: "edge", client: world.client("edge", "observer") }],
      onEvent: ({ type, journey }) => {
        if (type === "over") over.push(journey);
      },
    });
    observer.start();
    await simulation.sleep(5_000);
    const status = {
      phase: "Running",
      podIP: "10.1.0.1",
      podIPs: [{ ip: "10.1.0.1" }],
      conditions: ["Ready", "ContainersReady"].map((type) => ({ type, status: "True" })),
    };
    const containers = [{ name: "main", image: "web" }];
    const pod = await world.call("lab-1", "POST", podsPath, {
      metadata: { name: "web-0", labels: { app: "web" } },
      spec: { nodeName: "n1", containers },
    });
    await world.call("lab-1", "PATCH", `${podsPath}/web-0/status`, { status });
    await simulation.sleep(3_000);
    const { uid } = Object(Object(pod).metadata);
    const targetRef = { kind: "Pod", namespace: "shop", name: "web-0", uid };
    const endpoints = [{ addresses: ["10.1.0.1"], conditions: { ready: true }, targetRef }];
    await world.call("lab-1", "PATCH", `${slicesPath}/web-x1`, { endpoints });
    await simulation.sleep(10_000);
    await world.call("lab-1", "DELETE", `${podsPath}/web-0?gracePeriodSeconds=0`);
    await simulation.sleep(3_000);
    await world.republish("lab-1", "web", []);
    await simulation.sleep(60_000);
    const shown = over.map(({ direction, outcome, hops }) => ({
      direction,
      outcome,
      hops: hops.map(({ hop, state }) => {
        const isSoon = state.type === "shown" && (state.lagMs ?? 0) < 100;
        return `${hop} ${state.type} ${isSoon ? "at once" : "late"}`;
      }),
    }));
    const hops = ["pod shown at once", "published shown late", "synced shown at once"];
    expect(shown).toEqual([
      { direction: "join", outcome: "complete", hops },
      { direction: "leave", outcome: "complete", hops },
    ]);
    await observer.stop();
  }));
