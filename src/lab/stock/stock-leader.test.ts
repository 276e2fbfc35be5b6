import { expect, test } from "vitest";
import { type ApiWorld, inApiWorld } from "../../../tests/apiserver/api-world.ts";
import { Klog } from "../../components/klog.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { fixedAccess } from "../../kube/credentials/credentials.ts";
import { type Ingress, ingressKind } from "../../kube/kinds/ingress.ts";
import { StockLeader, type StockLeaderOptions } from "./stock-leader.ts";
import { readStockPod } from "./stock-pod.ts";

const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
const pods = "/api/v1/namespaces/default/pods";

/** Other figures than the release's own. */
const statusUpdateIntervalMs = 20_000;
const electionTtlMs = 16_000;

const aMomentMs = 50;

/** A pod that runs on a node of its own, whose only address is this one. */
async function addPod({ call }: ApiWorld, name: string, hash: string, address: string) {
  const node = `node-${name}`;
  await call("POST", "/api/v1/nodes", { metadata: { name: node } });
  const addresses = [
    { type: "InternalIP", address },
    { type: "ExternalIP", address: `1${address}` },
  ];
  const patch = { contentType: "application/merge-patch+json" };
  await call("PATCH", `/api/v1/nodes/${node}/status`, { status: { addresses } }, patch);
  const labels = { app: "ingress", "pod-template-hash": hash };
  await call("POST", pods, {
    metadata: { name, labels },
    spec: { nodeName: node, containers: [{ name: "c", image: "i" }] },
  });
  await call("PATCH", `${pods}/${name}/status`, { status: { phase: "Running" } }, patch);
}

async function addIngress({ call }: ApiWorld, name: string) {
  const service = { name: "web", port: { number: 80 } };
  await call("POST", ingresses, { metadata: { name }, spec: { defaultBackend: { service } } });
}

async function statusOf({ call }: ApiWorld, name: string): Promise<readonly string[]> {
  const { json } = await call("GET", `${ingresses}/${name}`);
  return ingressKind.project(json).loadBalancer.map(({ ip, hostname }) => ip || hostname);
}

async function startLeader(
  { simulation, call }: ApiWorld,
  name: string,
  options: Partial<StockLeaderOptions> = {},
) {
  const environment = simulation.host(name);
  const cluster = fixedAccess({ name: "c", server: "http://server:6443", token: "admin-token" });
  const client = new HttpKubeClient({ ...environment, cluster, userAgent: "stock" });
  const klog = new Klog({ ...environment, pid: 6 });
  // An informer without lag, so that only the sync's own time counts.
  let known: readonly Ingress[] = [];
  const look = async (): Promise<void> => {
    const { json } = await call("GET", ingresses);
    const { items } = json as { readonly items: readonly object[] };
    known = items.map((item) => ingressKind.project(item));
  };
  await look();
  const leader = new StockLeader({
    ...environment,
    client,
    klog,
    pod: await readStockPod(client, { namespace: "default", name }),
    release: "0.25.1",
    ingressClass: "nginx",
    publishing: { from: "nodes", addresses: "internal" },
    electionTtlMs,
    statusUpdateIntervalMs,
    ingresses: () => known,
    ...options,
  });
  leader.start();
  return { leader, klog, look };
}

test("the leader writes the addresses of all running pods of its revision, at once", () =>
  inApiWorld(async (world) => {
    await addPod(world, "one", "aaa", "10.0.0.2");
    await addPod(world, "two", "aaa", "10.0.0.1");
    await addPod(world, "other", "bbb", "10.0.0.3");
    await addIngress(world, "shop");
    const { leader, klog } = await startLeader(world, "one");
    await world.simulation.sleep(aMomentMs);
    expect(await statusOf(world, "shop")).toEqual(["10.0.0.1", "10.0.0.2"]);
    const lock = "default/ingress-controller-leader-nginx";
    expect(klog.lines().map(({ text }) => text.replace(/^(.)\S+ \S+ +/, "$1 "))).toEqual([
      `I 6 leaderelection.go:235] attempting to acquire leader lease  ${lock}...`,
      "I 6 status.go:86] new leader elected: one",
      `I 6 leaderelection.go:245] successfully acquired lease ${lock}`,
      "I 6 status.go:296] updating Ingress default/shop status from [] to [{10.0.0.1 } {10.0.0.2 }]",
    ]);
    await leader.stop();
  }));

test("a leader whose revision is gone empties every status at its next sync, and again if filled", () =>
  inApiWorld(async (world) => {
    const { simulation, call } = world;
    await addPod(world, "old", "aaa", "10.0.0.1");
    await addIngress(world, "shop");
    const { leader, look } = await startLeader(world, "old");
    await simulation.sleep(aMomentMs);
    await call("DELETE", `${pods}/old`, { gracePeriodSeconds: 0 });
    await addPod(world, "new", "bbb", "10.0.0.2");
    await look();
    await simulation.sleep(statusUpdateIntervalMs - 1_000);
    expect(await statusOf(world, "shop")).toEqual(["10.0.0.1"]);
    await simulation.sleep(1_000 + aMomentMs);
    expect(await statusOf(world, "shop")).toEqual([]);
    const status = { loadBalancer: { ingress: [{ ip: "192.0.2.9" }] } };
    const patch = { contentType: "application/merge-patch+json" };
    await call("PATCH", `${ingresses}/shop/status`, { status }, patch);
    await look();
    await simulation.sleep(statusUpdateIntervalMs + aMomentMs);
    expect(await statusOf(world, "shop")).toEqual([]);
    await leader.stop();
  }));

test("of a revision the last that ends cleanly empties the statuses; one among several leaves them", () =>
  inApiWorld(async (world) => {
    const { simulation, call } = world;
    await addPod(world, "one", "aaa", "10.0.0.1");
    await addPod(world, "two", "aaa", "10.0.0.2");
    await addIngress(world, "shop");
    const one = await startLeader(world, "one");
    const two = await startLeader(world, "two");
    await simulation.sleep(aMomentMs);
    await two.leader.stop();
    expect(await statusOf(world, "shop")).toEqual(["10.0.0.1", "10.0.0.2"]);
    expect(two.klog.lines().at(-1)?.text).toContain(
      "status.go:127] leaving status update for next leader (2)",
    );
    await call("DELETE", `${pods}/two`, { gracePeriodSeconds: 0 });
    await one.look();
    await one.leader.stop();
    expect(await statusOf(world, "shop")).toEqual([]);
    expect(one.klog.lines().map(({ text }) => text.split("] ").at(-1))).toContain(
      "removing address from ingress status ([10.0.0.1])",
    );
  }));

test.each<{ readonly options: Partial<StockLeaderOptions>; readonly expected: readonly string[] }>([
  { options: { publishing: { from: "nodes", addresses: "external" } }, expected: ["110.0.0.1"] },
  {
    options: { publishing: { from: "address", address: "edge.example" } },
    expected: ["edge.example"],
  },
  {
    options: { publishing: { from: "service", namespace: "default", name: "front" } },
    expected: ["192.0.2.7"],
  },
  { options: { release: "1.15.1" }, expected: [] },
])("with $options it publishes $expected", ({ options, expected }) =>
  inApiWorld(async (world) => {
    await addPod(world, "one", "aaa", "10.0.0.1");
    await addIngress(world, "shop");
    await world.call("POST", "/api/v1/namespaces/default/services", {
      metadata: { name: "front" },
      spec: { externalIPs: ["192.0.2.7"], ports: [{ port: 80 }] },
    });
    const { leader } = await startLeader(world, "one", options);
    await world.simulation.sleep(aMomentMs);
    // The pod runs and is not known to be ready, which the last release asks for besides.
    expect(await statusOf(world, "shop")).toEqual(expected);
    await leader.stop();
  }),
);

test("the last release keeps its lock in a Lease and logs in its own words", () =>
  inApiWorld(async (world) => {
    await addPod(world, "one", "aaa", "10.0.0.1");
    const { leader, klog } = await startLeader(world, "one", { release: "1.15.1" });
    await world.simulation.sleep(aMomentMs);
    const path = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    const { json } = await world.call("GET", `${path}/ingress-controller-leader`);
    expect(json).toMatchObject({ spec: { holderIdentity: "one", leaseDurationSeconds: 16 } });
    const lock = 'lock="default/ingress-controller-leader"';
    expect(klog.lines().map(({ text }) => text.split("  6 ").at(-1))).toEqual([
      `leaderelection.go:258] "Attempting to acquire leader lease..." ${lock}`,
      'status.go:85] "New leader elected" identity="one"',
      `leaderelection.go:272] "Successfully acquired lease" ${lock}`,
    ]);
    await leader.stop();
  }));
