import { expect, it } from "vitest";
import { inKubeletWorld, type KubeletWorld } from "../../../tests/kubelet/kubelet-world.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../../kube/kinds/fields.ts";

it("registers a node that is ready and lacks nothing", () =>
  inKubeletWorld(async (world) => {
    await world.simulation.sleep(1_000);
    const { metadata, spec, status } = await nodeOf(world);
    const resources = { cpu: "8", memory: "32Gi", "ephemeral-storage": "100Gi", pods: "110" };
    const now = "2026-01-01T00:00:00Z";
    const times = { lastHeartbeatTime: now, lastTransitionTime: now };
    expect(recordAt({ metadata }, "metadata")["labels"]).toEqual({
      "beta.kubernetes.io/arch": "amd64",
      "beta.kubernetes.io/os": "linux",
      "kubernetes.io/arch": "amd64",
      "kubernetes.io/hostname": "node-1",
      "kubernetes.io/os": "linux",
    });
    expect({ spec, status }).toEqual({
      spec: {},
      status: {
        capacity: resources,
        allocatable: resources,
        addresses: [
          { type: "InternalIP", address: "10.9.0.1" },
          { type: "Hostname", address: "node-1" },
        ],
        conditions: [
          {
            ...times,
            type: "MemoryPressure",
            status: "False",
            reason: "KubeletHasSufficientMemory",
            message: "kubelet has sufficient memory available",
          },
          {
            ...times,
            type: "DiskPressure",
            status: "False",
            reason: "KubeletHasNoDiskPressure",
            message: "kubelet has no disk pressure",
          },
          {
            ...times,
            type: "PIDPressure",
            status: "False",
            reason: "KubeletHasSufficientPID",
            message: "kubelet has sufficient PID available",
          },
          {
            ...times,
            type: "Ready",
            status: "True",
            reason: "KubeletReady",
            message: "kubelet is posting ready status",
          },
        ],
        daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
        nodeInfo: {
          machineID: "node-1",
          systemUUID: "node-1",
          bootID: "node-1",
          kernelVersion: "6.1.0",
          osImage: "Lockstep lab",
          containerRuntimeVersion: "lab://1.0.0",
          kubeletVersion: "v1.33.0+lockstep",
          kubeProxyVersion: "",
          operatingSystem: "linux",
          architecture: "amd64",
        },
      },
    });
  }));

it("renews its Lease every ten seconds and posts an unchanged status every five minutes", () =>
  inKubeletWorld(async (world) => {
    const renewals = new Set<unknown>();
    const heartbeats = new Set<unknown>();
    for (let minute = 0; minute < 600; minute += 1) {
      await world.simulation.sleep(1_000);
      renewals.add((await leaseSpec(world))["renewTime"]);
      heartbeats.add((await readyOf(world))?.["lastHeartbeatTime"]);
    }
    // Every wait is stretched by up to four percent.
    expect(renewals.size).toBeGreaterThanOrEqual(58);
    expect(renewals.size).toBeLessThanOrEqual(60);
    expect(heartbeats.size).toBe(2);
    expect(await leaseSpec(world)).toEqual({
      holderIdentity: "node-1",
      leaseDurationSeconds: 40,
      renewTime: [...renewals].at(-1),
    });
  }));

it("reports Ready with its next heartbeat after the controller took it for lost", () =>
  inKubeletWorld(async (world) => {
    const { simulation, call } = world;
    await simulation.sleep(25_000);
    const lost = {
      type: "Ready",
      status: "Unknown",
      reason: "NodeStatusUnknown",
      message: "Kubelet stopped posting node status.",
      lastTransitionTime: "2026-01-01T00:00:25Z",
    };
    await call(
      "PATCH",
      "/api/v1/nodes/node-1/status",
      { status: { conditions: [lost] } },
      { contentType: "application/strategic-merge-patch+json" },
    );
    expect((await readyOf(world))?.["status"]).toBe("Unknown");
    await simulation.sleep(11_000);
    const ready = await readyOf(world);
    expect(ready).toMatchObject({ status: "True", reason: "KubeletReady" });
    expect(ready?.["lastTransitionTime"]).toBe(ready?.["lastHeartbeatTime"]);
  }));

it("pauses and resumes its heartbeat while the pods run on and are reported", () =>
  inKubeletWorld(async (world) => {
    const { simulation, kubelet, createPod, timelineOf } = world;
    await simulation.sleep(15_000);
    kubelet.pauseHeartbeat();
    const { renewTime } = await leaseSpec(world);
    await simulation.sleep(60_000);
    expect((await leaseSpec(world))["renewTime"]).toBe(renewTime);
    await createPod("web");
    await simulation.sleep(1_000);
    expect(timelineOf("web").at(-1)).toBe("75 Running ready");
    kubelet.resumeHeartbeat();
    await simulation.sleep(11_000);
    expect((await leaseSpec(world))["renewTime"]).not.toBe(renewTime);
  }));

it("creates its Lease again after it was deleted", () =>
  inKubeletWorld(async (world) => {
    await world.simulation.sleep(5_000);
    await world.call("DELETE", leasePath);
    await world.simulation.sleep(25_000);
    expect((await leaseSpec(world))["holderIdentity"]).toBe("node-1");
  }));

it("does not register again a node that was deleted, and runs its pods on", () =>
  inKubeletWorld(async ({ simulation, call, createPod, ask }) => {
    const uid = await createPod("web");
    await simulation.sleep(5_000);
    await call("DELETE", "/api/v1/nodes/node-1");
    await simulation.sleep(60_000);
    expect((await call("GET", "/api/v1/nodes/node-1")).status).toBe(404);
    expect(await ask("10.9.0.2")).toMatchObject({ uid });
  }));

it("vanishes with its listeners and heartbeats, without a write", () =>
  inKubeletWorld(async (world) => {
    const { simulation, kubelet, createPod, timelineOf, ledger, ask } = world;
    await createPod("web");
    await simulation.sleep(15_000);
    const { renewTime } = await leaseSpec(world);
    await kubelet.powerOff();
    expect(await ask("10.9.0.2")).toBe("REFUSED");
    await simulation.sleep(120_000);
    expect((await leaseSpec(world))["renewTime"]).toBe(renewTime);
    expect((await readyOf(world))?.["status"]).toBe("True");
    expect(timelineOf("web").at(-1)).toBe("0 Running ready");
    const spells = ledger.spells("10.9.0.2").map(({ until = 0 }) => Math.round(until / 1_000));
    expect(spells).toEqual([15]);
    await kubelet.powerOff();
  }));

it("starts its pods again after the machine has come back, at a new address", () =>
  inKubeletWorld(async (world) => {
    const { simulation, kubelet, addNode, createPod, statusesOf, ask } = world;
    const uid = await createPod("web");
    await simulation.sleep(15_000);
    await kubelet.powerOff();
    await simulation.sleep(15_000);
    addNode("node-1");
    await simulation.sleep(5_000);
    const { status = {} } = statusesOf("web").at(-1) ?? {};
    const [container] = listAt(status, "containerStatuses").filter(isRecord);
    expect([status["podIP"], status["podIPs"], container?.["restartCount"]]).toEqual([
      "10.9.0.4",
      [{ ip: "10.9.0.4" }],
      1,
    ]);
    expect(await ask("10.9.0.4")).toMatchObject({ uid });
  }));

it("runs only the pods that are bound to it", () =>
  inKubeletWorld(async ({ simulation, addNode, createPod, ask }) => {
    addNode("node-2");
    await createPod("one", { node: "node-1" });
    await simulation.sleep(1_000);
    await createPod("two", { node: "node-2" });
    await createPod("three", { node: "node-3" });
    await simulation.sleep(1_000);
    expect(await ask("10.9.0.3")).toMatchObject({ pod: "one", node: "node-1" });
    expect(await ask("10.9.0.4")).toMatchObject({ pod: "two", node: "node-2" });
    expect(await ask("10.9.0.5")).toBe("UNKNOWN_HOST");
  }));

const leasePath = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1";

async function nodeOf({ call }: KubeletWorld): Promise<RawRecord> {
  const { json } = await call("GET", "/api/v1/nodes/node-1");
  return isRecord(json) ? json : {};
}

async function readyOf(world: KubeletWorld): Promise<RawRecord | undefined> {
  const conditions = listAt(recordAt(await nodeOf(world), "status"), "conditions");
  return conditions.filter(isRecord).find((condition) => condition["type"] === "Ready");
}

async function leaseSpec({ call }: KubeletWorld): Promise<RawRecord> {
  const { json } = await call("GET", leasePath);
  return recordAt(isRecord(json) ? json : {}, "spec");
}
