import { expect, test } from "vitest";
import { inSyncWorld, type SyncWorld } from "../../tests/syncing/sync-world.ts";
import { NamespaceSelection } from "../decide/syncing/service-selection.ts";
import { namespacePolicy } from "../decide/syncing/sync-policy.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const exportsPath = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/shop/serviceexports";

async function install(world: SyncWorld): Promise<void> {
  const schema = { openAPIV3Schema: { type: "object" } };
  await world.call("lab-1", "POST", definitions, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "serviceexports.multicluster.x-k8s.io" },
    spec: {
      group: "multicluster.x-k8s.io",
      scope: "Namespaced",
      names: { plural: "serviceexports", kind: "ServiceExport" },
      versions: [{ name: "v1alpha1", served: true, storage: true, schema }],
    },
  });
  await world.simulation.sleep(5_000);
}

async function exportService(world: SyncWorld, name: string): Promise<void> {
  await world.call("lab-1", "POST", exportsPath, {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ServiceExport",
    metadata: { name },
  });
}

test("a service is copied from its ServiceExport on, until that is deleted", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await world.publish("lab-1", "api", ["10.1.0.2"]);
    await install(world);
    await exportService(world, "web");
    const selection = new NamespaceSelection(new Set(), { exports: true });
    const policy = namespacePolicy(new Set(), { selection });
    world.startSyncer({ policy });
    await world.simulation.sleep(5_000);
    const web = { slices: { "web-lab-1-0": ["10.1.0.1"] }, services: ["web"] };
    expect(await world.copies()).toEqual(web);
    await exportService(world, "api");
    await world.simulation.sleep(20);
    expect((await world.copies()).services).toEqual(["api", "web"]);
    await world.call("lab-1", "DELETE", `${exportsPath}/api`);
    await world.simulation.sleep(20);
    expect(await world.copies()).toEqual(web);
  }));

test("a definition that is installed later is found, and until then nothing is exported", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    const selection = new NamespaceSelection(new Set(), { exports: true });
    world.startSyncer({ policy: namespacePolicy(new Set(), { selection }) });
    await world.simulation.sleep(5_000);
    expect((await world.copies()).services).toEqual([]);
    await install(world);
    await exportService(world, "web");
    await world.simulation.sleep(60_000);
    expect((await world.copies()).services).toEqual(["web"]);
  }));

test("while it is not known what is exported, copies stay", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await install(world);
    await exportService(world, "web");
    const selection = new NamespaceSelection(new Set(), { exports: true });
    const policy = namespacePolicy(new Set(), { selection });
    const first = world.startSyncer({ policy });
    await world.simulation.sleep(5_000);
    await first.stop();
    const { faults } = world.server("lab-1");
    const match = { userAgent: "lockstep", resource: "serviceexports" };
    faults.setRules([{ match, errors: { rate: 1, code: 500 } }]);
    const second = world.startSyncer({ policy });
    await world.simulation.sleep(60_000);
    expect((await world.copies()).services).toEqual(["web"]);
    await world.call("lab-1", "DELETE", `${exportsPath}/web`);
    faults.setRules([]);
    await world.simulation.sleep(60_000);
    expect((await world.copies()).services).toEqual([]);
    expect(second.writes).toHaveLength(2);
  }));
