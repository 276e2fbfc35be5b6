import { expect, test } from "vitest";
import {
  exportService,
  installExports,
  installImports,
  multiclusterPath,
} from "../../../tests/syncing/multicluster-definitions.ts";
import {
  type ClusterName,
  inSyncWorld,
  type SyncWorld,
  servicesPath,
  slicesPath,
} from "../../../tests/syncing/sync-world.ts";
import { clusterSetNames } from "../../decide/syncing/copy-names.ts";
import type { ImportForm } from "../../decide/syncing/plan-import.ts";
import { NamespaceSelection } from "../../decide/syncing/service-selection.ts";
import { namespacePolicy, type SyncPolicy } from "../../decide/syncing/sync-policy.ts";
import { type KubeClient, StatusError } from "../../kube/client/client.ts";
import { isRecord, type RawRecord, recordAt } from "../../kube/kinds/fields.ts";

const importsPath = `${multiclusterPath}/serviceimports`;
const exportsPath = `${multiclusterPath}/serviceexports`;

function policyOf(imports: ImportForm): SyncPolicy {
  const isDerived = imports === "derived";
  const selection = new NamespaceSelection(new Set(), { exports: isDerived ? "only" : true });
  return namespacePolicy(new Set(), {
    selection,
    imports,
    ...(isDerived ? { names: clusterSetNames } : {}),
  });
}

/** Both business clusters with the definitions, and the access cluster. */
async function prepare(world: SyncWorld, age?: "first" | "present"): Promise<void> {
  for (const cluster of ["lab-1", "lab-2"] as const) await installExports(world, cluster);
  await installImports(world, "edge", age);
  await world.simulation.sleep(5_000);
}

async function read(world: SyncWorld, cluster: ClusterName, path: string): Promise<RawRecord> {
  const raw = await world.call(cluster, "GET", path);
  return isRecord(raw) ? raw : {};
}

async function conditionsOf(world: SyncWorld, cluster: ClusterName, name: string) {
  const { status } = await read(world, cluster, `${exportsPath}/${name}`);
  const conditions =
    isRecord(status) && Array.isArray(status["conditions"]) ? status["conditions"] : [];
  return Object.fromEntries(
    conditions.map((one: RawRecord) => [one["type"], `${one["status"]} ${one["reason"]}`]),
  );
}

/** A mutual import: each cluster has an instance that writes to it, and reads both. */
function startMutual(world: SyncWorld, cluster: "lab-1" | "lab-2") {
  const client = world.client(cluster);
  return world.startSyncer({
    policy: policyOf("derived"),
    target: world.cluster(cluster),
    writeClient: client,
    exportStatusClients: new Map([[cluster, client]]),
  });
}

test("an exported service gets a ServiceImport beside its copies, until nothing exports it", () =>
  inSyncWorld(async (world) => {
    await prepare(world);
    for (const cluster of ["lab-1", "lab-2"] as const) {
      await world.publish(cluster, "web", ["10.1.0.1"]);
    }
    await exportService(world, "lab-1", "web", { exportedLabels: { team: "pay" } });
    const running = world.startSyncer({ policy: policyOf("beside") });
    await world.simulation.sleep(5_000);
    const found = await read(world, "edge", `${importsPath}/web`);
    expect(found["spec"]).toEqual({
      type: "ClusterSetIP",
      ports: [{ name: "http", port: 80, protocol: "TCP" }],
      ipFamilies: ["IPv4"],
      sessionAffinity: "None",
      internalTrafficPolicy: "Cluster",
    });
    expect(found["status"]).toEqual({
      clusters: [{ cluster: "lab-1" }],
      endpointSliceObjects: "Present",
    });
    expect(recordAt(found, "metadata")["labels"]).toEqual({
      team: "pay",
      "app.kubernetes.io/managed-by": "lockstep.dev",
    });
    const slice = await read(world, "edge", `${slicesPath}/web-lab-1-0`);
    expect(recordAt(slice, "metadata")["labels"]).toEqual({
      "kubernetes.io/service-name": "web",
      "endpointslice.kubernetes.io/managed-by": "lockstep.dev",
      "service.kubernetes.io/headless": "",
      "lockstep.dev/source-cluster": "lab-1",
      "multicluster.kubernetes.io/service-name": "web",
      "multicluster.kubernetes.io/source-cluster": "lab-1",
    });
    await exportService(world, "lab-2", "web");
    await world.simulation.sleep(1_000);
    expect((await read(world, "edge", `${importsPath}/web`))["status"]).toMatchObject({
      clusters: [{ cluster: "lab-1" }, { cluster: "lab-2" }],
    });
    await world.call("lab-1", "DELETE", `${exportsPath}/web`);
    await world.simulation.sleep(1_000);
    const later = await read(world, "edge", `${importsPath}/web`);
    expect(later["status"]).toMatchObject({ clusters: [{ cluster: "lab-2" }] });
    expect(recordAt(later, "metadata")["labels"]).not.toHaveProperty("team");
    await world.call("lab-2", "DELETE", `${exportsPath}/web`);
    await world.simulation.sleep(1_000);
    await expect(read(world, "edge", `${importsPath}/web`)).rejects.toThrow("not found");
    expect(await world.copies()).toEqual({ slices: {}, services: [] });
    const writes = running.writes.length;
    await world.simulation.sleep(700_000);
    expect(running.writes).toHaveLength(writes);
  }));

test("a restart writes nothing, and neither does an older definition that drops fields", () =>
  inSyncWorld(async (world) => {
    await prepare(world, "first");
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await exportService(world, "lab-1", "web");
    const first = world.startSyncer({ policy: policyOf("beside") });
    await world.simulation.sleep(5_000);
    expect((await read(world, "edge", `${importsPath}/web`))["spec"]).toEqual({
      type: "ClusterSetIP",
      ports: [{ name: "http", port: 80, protocol: "TCP" }],
      sessionAffinity: "None",
    });
    await first.stop();
    const second = world.startSyncer({ policy: policyOf("beside") });
    await world.simulation.sleep(700_000);
    expect(second.writes).toEqual([]);
    for (const { registry } of [first, second]) {
      const noops = await registry.getSingleMetric("lockstep_sync_noop_writes_total")?.get();
      expect(noops?.values).toEqual([]);
    }
  }));

test("clusters import from each other beside Services of their own, with an address for each import", () =>
  inSyncWorld(async (world) => {
    const both = ["lab-1", "lab-2"] as const;
    for (const cluster of both) {
      await installExports(world, cluster);
      await installImports(world, cluster);
    }
    await world.simulation.sleep(5_000);
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await exportService(world, "lab-1", "web");
    const running = both.map((cluster) => startMutual(world, cluster));
    await world.simulation.sleep(5_000);
    expect(await conditionsOf(world, "lab-1", "web")).toEqual({
      Valid: "True Valid",
      Ready: "True Exported",
      Conflict: "False NoConflicts",
    });
    // The second cluster has a Service with this name later, and it is not in the way of the copies.
    await world.publish("lab-2", "web", ["10.2.0.1"]);
    await world.call("lab-2", "PATCH", `${servicesPath}/web`, {
      spec: { ports: ["http", "admin"].map((name, index) => ({ name, port: 80 + index })) },
    });
    await exportService(world, "lab-2", "web");
    await world.simulation.sleep(5_000);
    for (const cluster of both) {
      const service = await read(world, cluster, `${servicesPath}/web-clusterset`);
      const found = await read(world, cluster, `${importsPath}/web`);
      const { clusterIPs } = recordAt(service, "spec");
      expect(found["spec"]).toMatchObject({
        type: "ClusterSetIP",
        ips: clusterIPs,
        ports: [{ name: "http" }, { name: "admin" }],
      });
      expect(await conditionsOf(world, cluster, "web")).toEqual({
        Valid: "True Valid",
        Ready: "True Exported",
        Conflict: "True PortConflict",
      });
      const slices = await world.slices(cluster);
      const derived = slices.filter(
        ({ metadata }) => metadata.labels["kubernetes.io/service-name"] === "web-clusterset",
      );
      expect(
        derived.map(({ metadata, endpoints }) => [
          metadata.labels["multicluster.kubernetes.io/source-cluster"],
          metadata.labels["service.kubernetes.io/headless"],
          endpoints.map(({ addresses }) => addresses[0]),
        ]),
      ).toEqual([
        ["lab-1", undefined, ["10.1.0.1"]],
        ["lab-2", undefined, ["10.2.0.1"]],
      ]);
      const raw = await read(world, cluster, `${slicesPath}/web-clusterset-lab-1-0`);
      expect(recordAt(raw, "metadata")["ownerReferences"]).toEqual([
        {
          apiVersion: "multicluster.x-k8s.io/v1beta1",
          kind: "ServiceImport",
          name: "web",
          uid: recordAt(found, "metadata")["uid"],
        },
      ]);
    }
    const writes = running.map((one) => one.writes.length);
    await world.simulation.sleep(700_000);
    expect(running.map((one) => one.writes.length)).toEqual(writes);
    for (const cluster of both) await world.call(cluster, "DELETE", `${exportsPath}/web`);
    await world.simulation.sleep(5_000);
    for (const cluster of both) {
      await expect(read(world, cluster, `${servicesPath}/web-clusterset`)).rejects.toThrow();
      await expect(read(world, cluster, `${importsPath}/web`)).rejects.toThrow();
      expect(await world.slices(cluster)).toHaveLength(1);
    }
  }));

test("while the cluster with the oldest export is not known, the import stays, and endpoints follow", () =>
  inSyncWorld(async (world) => {
    await prepare(world);
    for (const [index, cluster] of (["lab-1", "lab-2"] as const).entries()) {
      await world.publish(cluster, "web", [`10.${index + 1}.0.1`]);
      await exportService(world, cluster, "web", { exportedLabels: { from: cluster } });
      await world.simulation.sleep(1_000);
    }
    const first = world.startSyncer({ policy: policyOf("beside") });
    await world.simulation.sleep(5_000);
    await first.stop();
    const before = await read(world, "edge", `${importsPath}/web`);
    expect(recordAt(before, "metadata")["labels"]).toMatchObject({ from: "lab-1" });
    world.simulation.network.partition("lockstep", "lab-1");
    world.startSyncer({ policy: policyOf("beside") });
    await world.republish("lab-2", "web", ["10.2.0.9"]);
    await world.simulation.sleep(120_000);
    expect(await read(world, "edge", `${importsPath}/web`)).toEqual(before);
    expect((await world.copies()).slices).toEqual({
      "web-lab-1-0": ["10.1.0.1"],
      "web-lab-2-0": ["10.2.0.9"],
    });
    await world.call("lab-1", "DELETE", `${exportsPath}/web`);
    world.simulation.network.heal("lockstep", "lab-1");
    await world.simulation.sleep(120_000);
    const after = await read(world, "edge", `${importsPath}/web`);
    expect(recordAt(after, "metadata")["labels"]).toMatchObject({ from: "lab-2" });
    expect(after["status"]).toMatchObject({ clusters: [{ cluster: "lab-2" }] });
  }));

test("a ServiceImport of another owner stays, and the exports show why there is none", () =>
  inSyncWorld(async (world) => {
    await prepare(world);
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await world.call("edge", "POST", importsPath, {
      apiVersion: "multicluster.x-k8s.io/v1beta1",
      kind: "ServiceImport",
      metadata: { name: "web" },
      spec: { type: "Headless", ports: [] },
    });
    const before = await read(world, "edge", `${importsPath}/web`);
    await exportService(world, "lab-1", "web");
    const client = world.client("lab-1");
    const exportStatusClients = new Map([["lab-1", client]]);
    world.startSyncer({ policy: policyOf("beside"), exportStatusClients });
    await world.simulation.sleep(5_000);
    expect(await read(world, "edge", `${importsPath}/web`)).toEqual(before);
    expect((await world.copies()).slices).toEqual({ "web-lab-1-0": ["10.1.0.1"] });
    expect(await conditionsOf(world, "lab-1", "web")).toMatchObject({ Ready: "False Failed" });
  }));

test("an export without a Service, or of an external name, is not valid, until it is", () =>
  inSyncWorld(async (world) => {
    await prepare(world);
    await exportService(world, "lab-1", "web");
    await exportService(world, "lab-1", "far");
    await world.call("lab-1", "POST", servicesPath, {
      metadata: { name: "far" },
      spec: { type: "ExternalName", externalName: "far.example" },
    });
    const client = world.client("lab-1");
    const exportStatusClients = new Map([["lab-1", client]]);
    world.startSyncer({ policy: policyOf("beside"), exportStatusClients });
    await world.simulation.sleep(5_000);
    expect(await conditionsOf(world, "lab-1", "web")).toMatchObject({ Valid: "False NoService" });
    expect(await conditionsOf(world, "lab-1", "far")).toMatchObject({
      Valid: "False InvalidServiceType",
      Ready: "False Failed",
    });
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await world.simulation.sleep(1_000);
    expect(await conditionsOf(world, "lab-1", "web")).toEqual({
      Valid: "True Valid",
      Ready: "True Exported",
      Conflict: "False NoConflicts",
    });
  }));

test("without permission for imports and statuses the copies go on, and few writes are tried", () =>
  inSyncWorld(async (world) => {
    await prepare(world);
    for (const name of ["web", "api"]) {
      await world.publish("lab-1", name, ["10.1.0.1"]);
      await exportService(world, "lab-1", name);
    }
    const refused: string[] = [];
    const refusing = (cluster: ClusterName) => withoutWrites(world.client(cluster), refused);
    world.startSyncer({
      policy: policyOf("beside"),
      writeClient: refusing("edge"),
      exportStatusClients: new Map([["lab-1", refusing("lab-1")]]),
    });
    await world.simulation.sleep(5_000);
    expect(await world.copies()).toEqual({
      slices: { "api-lab-1-0": ["10.1.0.1"], "web-lab-1-0": ["10.1.0.1"] },
      services: ["api", "web"],
    });
    await world.republish("lab-1", "web", ["10.1.0.9"]);
    await world.simulation.sleep(100);
    expect((await world.copies()).slices["web-lab-1-0"]).toEqual(["10.1.0.9"]);
    // Two exports, and workers beside each other; the first refusal stops both.
    expect(refused.length).toBeLessThanOrEqual(4);
    await world.simulation.sleep(1_200_000);
    // There is a resync each ten minutes.
    expect(refused.length).toBeGreaterThan(4);
    expect(refused.length).toBeLessThanOrEqual(4 * 3);
  }));

test("a namespace that is being deleted keeps no other from its imports", () =>
  inSyncWorld(async (world) => {
    await prepare(world);
    for (const name of ["api", "web"]) {
      await world.publish("lab-1", name, ["10.1.0.1"]);
      await exportService(world, "lab-1", name);
    }
    const edge = world.client("edge");
    world.startSyncer({
      policy: policyOf("beside"),
      writeClient: {
        request: async (request) => {
          // As the API server answers before the watch has shown the deletion.
          if (request.method === "POST" && JSON.stringify(request.body).includes('"api"')) {
            if (request.path.endsWith("/serviceimports")) throw terminating();
          }
          return await edge.request(request);
        },
        stream: (request) => edge.stream(request),
      },
    });
    await world.simulation.sleep(5_000);
    await world.publish("lab-1", "pay", ["10.1.0.3"]);
    await exportService(world, "lab-1", "pay");
    await world.simulation.sleep(5_000);
    const { items } = await read(world, "edge", importsPath);
    const all: readonly RawRecord[] = Array.isArray(items) ? items : [];
    const names = all.map((one) => recordAt(one, "metadata")["name"]);
    expect(names).toEqual(["pay", "web"]);
  }));

function terminating(): StatusError {
  const causes = ["NamespaceTerminating"];
  return new StatusError({ code: 403, reason: "Forbidden", message: "being deleted", causes });
}

/** A client with a role that says nothing of the Multi-Cluster Services API. */
function withoutWrites(client: KubeClient, refused: string[]): KubeClient {
  return {
    request: async (request) => {
      if (request.method === "GET" || !request.path.startsWith("/apis/multicluster.x-k8s.io")) {
        return await client.request(request);
      }
      refused.push(request.path);
      throw new StatusError({ code: 403, reason: "Forbidden", message: "not permitted" });
    },
    stream: (request) => client.stream(request),
  };
}
