import { expect, test } from "vitest";
import {
  inSyncWorld,
  type SyncWorld,
  servicesPath,
  slicesPath,
} from "../../../tests/syncing/sync-world.ts";
import type { CopyNames } from "../../decide/syncing/copy-names.ts";
import { namespacePolicy } from "../../decide/syncing/sync-policy.ts";

const settledMs = 5_000;
const podsPath = "/api/v1/namespaces/shop/pods";

/** A running pod of a service, on the node `n1`. */
async function addPod(world: SyncWorld, name: string, service: string, podIP: string) {
  await world.call("lab-1", "POST", podsPath, {
    metadata: { name, labels: { app: service } },
    spec: { nodeName: "n1", containers: [{ name: "main", image: "web" }] },
  });
  await setReady(world, name, "True", podIP);
}

async function setReady(world: SyncWorld, name: string, status: string, podIP: string) {
  const conditions = ["Ready", "ContainersReady"].map((type) => ({ type, status }));
  await world.call("lab-1", "PATCH", `${podsPath}/${name}/status`, {
    status: { phase: "Running", podIP, podIPs: [{ ip: podIP }], conditions },
  });
}

async function addNode(world: SyncWorld): Promise<void> {
  const labels = { "topology.kubernetes.io/zone": "zone-a" };
  await world.call("lab-1", "POST", "/api/v1/nodes", { metadata: { name: "n1", labels } });
}

test("pods join and leave the copy while no controller writes the slices", () =>
  inSyncWorld(async (world) => {
    await addNode(world);
    await world.publish("lab-1", "web", []);
    const { writes } = world.startSyncer();
    await world.simulation.sleep(settledMs);
    await addPod(world, "web-0", "web", "10.1.0.1");
    await addPod(world, "web-1", "web", "10.1.0.2");
    await world.simulation.sleep(20);
    const [copy] = await world.slices();
    expect(copy?.endpoints).toMatchObject([
      { addresses: ["10.1.0.1"], ready: true, zone: "zone-a", nodeName: "n1" },
      { addresses: ["10.1.0.2"], ready: true, zone: "zone-a", nodeName: "n1" },
    ]);
    expect(copy?.endpoints[0]?.targetRef).toMatchObject({ kind: "Pod", name: "web-0" });
    expect(copy?.ports).toMatchObject([{ name: "http", port: 8080, protocol: "TCP" }]);
    const before = writes.length;
    await setReady(world, "web-0", "False", "10.1.0.1");
    await world.simulation.sleep(20);
    expect((await world.copies()).slices).toEqual({ "web-lab-1-0": ["10.1.0.2"] });
    expect(writes.slice(before)).toEqual([`PATCH ${slicesPath}/web-lab-1-0`]);
  }));

test("a pod that terminates is listed as serving, and gets requests when it is the last one", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", []);
    await addPod(world, "web-0", "web", "10.1.0.1");
    await addPod(world, "web-1", "web", "10.1.0.2");
    world.startSyncer();
    await world.simulation.sleep(settledMs);
    const conditions = async () =>
      (await world.slices())[0]?.endpoints.map(({ ready, serving, terminating }) => [
        ready,
        serving,
        terminating,
      ]);
    await world.call("lab-1", "DELETE", `${podsPath}/web-0`);
    await world.simulation.sleep(20);
    expect(await conditions()).toEqual([
      [false, true, true],
      [true, true, false],
    ]);
    await setReady(world, "web-1", "False", "10.1.0.2");
    await world.simulation.sleep(20);
    expect(await conditions()).toEqual([[true, true, true]]);
  }));

/** Copies beside their services, in one cluster. */
const twins: CopyNames = {
  owner: "twins.lockstep.dev",
  targetName: (service) => `${service}-twin`,
  sourceName: (target) => (target.endsWith("-twin") ? target.slice(0, -5) : undefined),
};

test("under other names, copies live in the source's own cluster and are not copied again", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", []);
    await addPod(world, "web-0", "web", "10.1.0.1");
    const { writes } = world.startSyncer({
      sources: [world.cluster("lab-1")],
      target: world.cluster("lab-1"),
      policy: namespacePolicy(new Set(["shop"]), { names: twins }),
      writeClient: world.client("lab-1"),
    });
    await world.simulation.sleep(settledMs);
    const slices = await world.slices("lab-1");
    expect(slices.map(({ metadata }) => metadata.name).sort()).toEqual([
      "web-twin-lab-1-0",
      "web-x1",
    ]);
    const twin = slices.find(({ metadata }) => metadata.name !== "web-x1");
    expect(twin?.endpoints).toMatchObject([{ addresses: ["10.1.0.1"], ready: true }]);
    expect(twin?.metadata.labels).toMatchObject({
      "kubernetes.io/service-name": "web-twin",
      "endpointslice.kubernetes.io/managed-by": "twins.lockstep.dev",
    });
    expect(writes).toHaveLength(2);
    await world.simulation.sleep(600_000);
    expect(writes).toHaveLength(2);
  }));

test("ports keep their names, and pods with other numbers for them get slices of their own", () =>
  inSyncWorld(async (world) => {
    await world.call("lab-1", "POST", servicesPath, {
      metadata: { name: "web" },
      spec: {
        selector: { app: "web" },
        ports: [
          { name: "http", port: 80, targetPort: "main", appProtocol: "http" },
          { name: "admin", port: 81, targetPort: 9000 },
        ],
      },
    });
    for (const [index, containerPort] of [8080, 8081].entries()) {
      const name = `web-${index}`;
      const ports = [{ name: "main", containerPort }];
      await world.call("lab-1", "POST", podsPath, {
        metadata: { name, labels: { app: "web" } },
        spec: { nodeName: "n1", containers: [{ name: "main", image: "web", ports }] },
      });
      await setReady(world, name, "True", `10.1.0.${index}`);
    }
    world.startSyncer();
    await world.simulation.sleep(settledMs);
    const shown = (await world.slices()).map(({ endpoints, ports }) => [
      endpoints.map(({ addresses }) => addresses[0]),
      ports.map(({ name, port, appProtocol }) => [name, port, appProtocol]),
    ]);
    const admin = ["admin", 9000, undefined];
    expect(shown).toEqual([
      [["10.1.0.0"], [admin, ["http", 8080, "http"]]],
      [["10.1.0.1"], [admin, ["http", 8081, "http"]]],
    ]);
  }));

test("a cluster with weight 0 stands in only when no other has a ready endpoint", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await world.publish("lab-2", "web", ["10.2.0.1"]);
    const annotations = { "lockstep.dev/weight": "0" };
    await world.call("lab-2", "PATCH", `${servicesPath}/web`, { metadata: { annotations } });
    world.startSyncer();
    await world.simulation.sleep(settledMs);
    const ready = async () =>
      (await world.slices()).flatMap(({ endpoints }) =>
        endpoints.map((one) => `${one.addresses[0]} ${one.ready} ${one.serving}`),
      );
    expect(await ready()).toEqual(["10.1.0.1 true true", "10.2.0.1 false true"]);
    await world.republish("lab-1", "web", []);
    await world.simulation.sleep(20);
    expect(await ready()).toEqual(["10.2.0.1 true true"]);
  }));
