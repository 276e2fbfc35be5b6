import { describe, expect, test } from "vitest";
import {
  deployment,
  deployments,
  inControllerWorld,
  replicaSets,
} from "../../../../tests/controllers/controller-world.ts";
import { numberAt, objectsAt, textAt, textMapAt } from "../../../apiserver/kinds/fields.ts";
import type { KubeObject } from "../../../apiserver/kube-object.ts";

const pods = "/api/v1/namespaces/default/pods";
const mergePatch = { contentType: "application/merge-patch+json" };

function newTemplate(mark: string): object {
  return { spec: { template: { metadata: { annotations: { mark } } } } };
}

describe("a deployment", () => {
  test("gets its pods, spread over the nodes, and its status shows that it is done", async () => {
    await inControllerWorld(async (world) => {
      await world.create(deployments, deployment("web", 4));
      await world.live(5000);
      const web = await world.get(`${deployments}/web`);
      expect(web["status"]).toEqual({
        replicas: 4,
        updatedReplicas: 4,
        readyReplicas: 4,
        availableReplicas: 4,
        observedGeneration: 1,
        conditions: [
          {
            type: "Available",
            status: "True",
            reason: "MinimumReplicasAvailable",
            message: "Deployment has minimum availability.",
            lastTransitionTime: expect.any(String),
            lastUpdateTime: expect.any(String),
          },
          {
            type: "Progressing",
            status: "True",
            reason: "NewReplicaSetAvailable",
            message: expect.stringMatching(/^ReplicaSet "web-\w+" has successfully progressed\.$/),
            lastTransitionTime: expect.any(String),
            lastUpdateTime: expect.any(String),
          },
        ],
      });
      const nodes = (await world.list(pods)).map((pod) => textAt(pod, "spec", "nodeName")).sort();
      expect(nodes).toEqual(["node-1", "node-1", "node-2", "node-2"]);
    });
  });

  test("gets each pod once, though the watches show them late", async () => {
    await inControllerWorld(async (world) => {
      world.server.faults.cache.cacheLagMs = 2000;
      await world.create(deployments, deployment("web", 10));
      const seen = new Set<string>();
      for (let look = 0; look < 200; look += 1) {
        await world.simulation.sleep(100);
        for (const { metadata } of await world.list(pods)) seen.add(metadata.name);
      }
      expect([seen.size, (await world.list(pods)).length]).toEqual([10, 10]);
    });
  });

  test("rolls within its limits and never has fewer or more pods than they allow", async () => {
    await inControllerWorld(async (world) => {
      const strategy = { rollingUpdate: { maxSurge: 2, maxUnavailable: "20%" } };
      await world.create(deployments, deployment("web", 5, { strategy }));
      await world.live(5000);
      await world.call("PATCH", `${deployments}/web`, newTemplate("2"), mergePatch);
      const seen = { most: 0, fewestReady: Number.POSITIVE_INFINITY };
      for (let round = 0; round < 60; round += 1) {
        await world.turnNodes();
        for (let look = 0; look < 5; look += 1) {
          await world.simulation.sleep(50);
          note(seen, await world.list(pods));
        }
      }
      expect(seen).toEqual({ most: 7, fewestReady: 4 });
      const sets = await world.list(replicaSets);
      expect(sizesByRevision(sets)).toEqual({ 1: 0, 2: 5 });
      const web = await world.get(`${deployments}/web`);
      expect([revisionOf(web), numberAt(web, "status", "updatedReplicas")]).toEqual(["2", 5]);
    });
  });

  test("of type Recreate has no new pod before the last old one is gone", async () => {
    await inControllerWorld(async (world) => {
      await world.create(deployments, deployment("web", 3, { strategy: { type: "Recreate" } }));
      await world.live(5000);
      const old = new Set((await world.list(pods)).map(({ metadata }) => metadata.name));
      await world.call("PATCH", `${deployments}/web`, newTemplate("2"), mergePatch);
      await world.simulation.sleep(3000);
      const between = await world.list(pods);
      expect(between.map(({ metadata }) => old.has(metadata.name))).toEqual([true, true, true]);
      await world.live(5000);
      const after = await world.list(pods);
      expect(after.map(({ metadata }) => old.has(metadata.name))).toEqual([false, false, false]);
    });
  });

  test("that goes back to an old template uses its set again, with a new number", async () => {
    await inControllerWorld(async (world) => {
      await world.create(deployments, deployment("web", 1));
      for (const mark of ["2", null, "2"]) {
        await world.live(5000);
        const template = { metadata: { annotations: { mark } } };
        await world.call("PATCH", `${deployments}/web`, { spec: { template } }, mergePatch);
      }
      await world.live(5000);
      const sets = await world.list(replicaSets);
      expect(sizesByRevision(sets)).toEqual({ 3: 0, 4: 1 });
    });
  });

  test("tells its present set why it was changed, and leaves the old ones as they are", async () => {
    await inControllerWorld(async (world) => {
      await world.create(deployments, deployment("web", 1));
      await world.live(5000);
      const changed = {
        metadata: { annotations: { why: "second" } },
        spec: { template: { metadata: { annotations: { mark: "2" } } } },
      };
      await world.call("PATCH", `${deployments}/web`, changed, mergePatch);
      await world.live(5000);
      const later = { metadata: { annotations: { why: "second, explained" } } };
      await world.call("PATCH", `${deployments}/web`, later, mergePatch);
      await world.live(5000);
      const sets = await world.list(replicaSets);
      expect(
        Object.fromEntries(
          sets.map(({ metadata: { annotations = {} } }) => [
            annotations["deployment.kubernetes.io/revision"],
            annotations["why"],
          ]),
        ),
      ).toEqual({ 1: undefined, 2: "second, explained" });
    });
  });

  test("takes with it, when deleted, its sets and their pods", async () => {
    await inControllerWorld(async (world) => {
      await world.create(deployments, deployment("web", 3));
      await world.live(5000);
      await world.call("DELETE", `${deployments}/web`, { propagationPolicy: "Background" });
      await world.live(10_000);
      expect([...(await world.list(replicaSets)), ...(await world.list(pods))]).toEqual([]);
    });
  });

  test("that makes no progress within its deadline has a condition for it", async () => {
    await inControllerWorld(async (world) => {
      const spec = { progressDeadlineSeconds: 60 };
      await world.create(deployments, deployment("web", 1, spec));
      await world.simulation.sleep(130_000);
      const web = await world.get(`${deployments}/web`);
      const conditions = objectsAt(web, "status", "conditions");
      expect(conditions.map((one) => [one["type"], one["status"], one["reason"]])).toEqual([
        ["Available", "False", "MinimumReplicasUnavailable"],
        ["Progressing", "False", "ProgressDeadlineExceeded"],
      ]);
    });
  });
});

function note(seen: { most: number; fewestReady: number }, all: readonly KubeObject[]): void {
  const active = all.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const ready = active.filter((pod) =>
    objectsAt(pod, "status", "conditions").some(isReadyCondition),
  );
  seen.most = Math.max(seen.most, active.length);
  seen.fewestReady = Math.min(seen.fewestReady, ready.length);
}

function isReadyCondition(condition: Readonly<Record<string, unknown>>): boolean {
  return condition["type"] === "Ready" && condition["status"] === "True";
}

function revisionOf(object: KubeObject): string | undefined {
  return textMapAt(object, "metadata", "annotations")["deployment.kubernetes.io/revision"];
}

function sizesByRevision(sets: readonly KubeObject[]): object {
  return Object.fromEntries(
    sets.map((set) => [revisionOf(set), numberAt(set, "spec", "replicas")]),
  );
}
