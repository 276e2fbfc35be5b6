// Deletions with a policy for the dependents.
import { expect, test } from "vitest";
import { pods } from "../../../tests/apiserver/api-world.ts";
import {
  type ControllerWorld,
  deployment,
  deployments,
  inControllerWorld,
  replicaSets,
  services,
} from "../../../tests/controllers/controller-world.ts";
import { objectAt } from "../../apiserver/kinds/fields.ts";

/** How many Deployments, ReplicaSets and pods there are. */
async function counts({ list }: ControllerWorld): Promise<readonly number[]> {
  const all = await Promise.all([deployments, replicaSets, pods].map((path) => list(path)));
  return all.map(({ length }) => length);
}

async function withDeployment(run: (world: ControllerWorld) => Promise<void>): Promise<void> {
  await inControllerWorld(async (world) => {
    await world.create(deployments, deployment("web", 2));
    await world.live(5000);
    expect(await counts(world)).toEqual([1, 1, 2]);
    await run(world);
  });
}

function remove(world: ControllerWorld, path: string, propagationPolicy: string): Promise<unknown> {
  return world.call("DELETE", path, { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy });
}

test("in the foreground an owner stays until all that it owns is gone", () =>
  withDeployment(async (world) => {
    await remove(world, `${deployments}/web`, "Foreground");
    await world.simulation.sleep(500);
    const [set] = await world.list(replicaSets);
    expect(set?.metadata.finalizers).toEqual(["foregroundDeletion"]);
    const leaving = await world.list(pods);
    expect(leaving.map(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([
      true,
      true,
    ]);
    expect(await counts(world)).toEqual([1, 1, 2]);
    await world.live(5000);
    expect(await counts(world)).toEqual([0, 0, 0]);
  }));

test("an orphan stays when its owner goes, and has no owner", () =>
  withDeployment(async (world) => {
    await remove(world, `${deployments}/web`, "Orphan");
    await world.live(5000);
    expect(await counts(world)).toEqual([0, 1, 2]);
    const [set] = await world.list(replicaSets);
    expect(objectAt(set, "metadata")).not.toHaveProperty("ownerReferences");
    await remove(world, `${replicaSets}/${set?.metadata.name}`, "Background");
    await world.live(5000);
    expect(await counts(world)).toEqual([0, 0, 0]);
  }));

test("an object that owns nothing goes at once, whatever the policy for dependents", () =>
  inControllerWorld(async (world) => {
    for (const policy of ["Foreground", "Orphan"]) {
      await world.create(services, { metadata: { name: "web" }, spec: { ports: [{ port: 80 }] } });
      await world.live(1000);
      await remove(world, `${services}/web`, policy);
      await world.live(3000);
      expect(await world.list(services)).toEqual([]);
    }
  }));
