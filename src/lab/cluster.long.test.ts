import { expect, it } from "vitest";
import { parseJson } from "../kube/client/client.ts";
import { HttpKubeClient } from "../kube/client/http-client.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../kube/kinds/fields.ts";
import { type Simulation, simulate } from "../simulation/simulation.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { Ledger } from "./kubelet/ledger.ts";

interface ClusterWorld {
  readonly simulation: Simulation;
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  readonly client: HttpKubeClient;
}

function inCluster(run: (world: ClusterWorld) => Promise<void>, nodes = 2): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const user = simulation.host("user");
    const ledger = new Ledger({ clock: user.clock });
    const cluster = await startCluster({
      name: "blue",
      environmentOf: (part) => simulation.host(part),
      hostOf: (part) => part,
      ports: [6443, 6443],
      nodes,
      podNetwork: "10.7",
      ledger,
    });
    const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "user" });
    await run({ simulation, cluster, ledger, client });
    await cluster.stop();
    await cluster.stop();
  });
}

it("runs a deployment on simulated machines, publishes its pods and stops without a trace", () =>
  inCluster(async ({ simulation, cluster, ledger, client }) => {
    await createWeb(client, 3);
    await simulation.sleep(5_000);
    expect(await publishedAddresses(client)).toEqual(["10.7.0.3", "10.7.0.4", "10.7.0.5"]);
    const { clock } = simulation.host("user");
    const alive = ["10.7.0.3", "10.7.0.4", "10.7.0.5"].map((address) =>
      ledger.aliveAt(address, clock.monotonicMs()),
    );
    expect(alive).toEqual([true, true, true]);
    expect(cluster.servers.map(({ url }) => url)).toEqual([
      "http://blue:6443",
      "http://blue-server-2:6443",
    ]);
    await cluster.stop();
    expect(simulation.network.openExchanges()).toBe(0);
    expect(ledger.aliveAt("10.7.0.3", clock.monotonicMs())).toBe(false);
  }));

it("has as many machines as asked for, which Node does not take for a leak of listeners", async () => {
  const leaks: Error[] = [];
  const hear = (warning: Error): void => {
    if (warning.name === "MaxListenersExceededWarning") leaks.push(warning);
  };
  process.on("warning", hear);
  await inCluster(async ({ simulation, client }) => {
    await simulation.sleep(1_000);
    // And one for each API server.
    expect(listAt(await get(client, "/api/v1/nodes"), "items")).toHaveLength(12 + 2);
  }, 12).finally(() => process.off("warning", hear));
  expect(leaks).toEqual([]);
});

it("publishes the successors of pods that are deleted, and not those that left", () =>
  inCluster(async ({ simulation, client }) => {
    await createWeb(client, 2);
    await simulation.sleep(5_000);
    await client.request({
      verb: "delete",
      method: "DELETE",
      path: "/api/v1/namespaces/default/pods",
    });
    await simulation.sleep(5_000);
    expect(await publishedAddresses(client)).toEqual(["10.7.0.5", "10.7.0.6"]);
  }));

it("starts the controllers again with other flags, and shows them and the metrics", () =>
  inCluster(async ({ simulation, cluster, client }) => {
    await simulation.sleep(5_000);
    await cluster.controlPlane.restart({ "kube-api-qps": 300, "kube-api-burst": 325 });
    await createWeb(client, 1);
    await simulation.sleep(5_000);
    expect(await publishedAddresses(client)).toEqual(["10.7.0.3"]);
    const path = "/api/v1/namespaces/kube-system/pods/kube-controller-manager-control-plane";
    const pod = await get(client, path);
    const [container] = listAt(recordAt(pod, "spec"), "containers").filter(isRecord);
    expect(listAt(container ?? {}, "command").slice(0, 3)).toEqual([
      "kube-controller-manager",
      "--kube-api-qps=300",
      "--kube-api-burst=325",
    ]);
    const { network } = simulation.host("user");
    const url = cluster.controlPlane.metricsUrl ?? "";
    const metrics = await network.request({ method: "GET", url });
    expect(metrics.status).toBe(200);
  }));

it("says which server cannot listen and leaves none behind", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const other = simulation.host("blue-server-2");
    const taken = await other.network.listen(
      { host: "blue-server-2", port: 6443 },
      () => undefined,
    );
    const ledger = new Ledger({ clock: other.clock });
    const failing = startCluster({
      name: "blue",
      environmentOf: (part) => simulation.host(part),
      hostOf: (part) => part,
      ports: [6443, 6443],
      nodes: 1,
      podNetwork: "10.7",
      ledger,
    });
    await expect(failing).rejects.toMatchObject({ code: "ADDRESS_IN_USE" });
    const url = "http://blue:6443/healthz";
    await expect(other.network.request({ method: "GET", url })).rejects.toMatchObject({
      code: "REFUSED",
    });
    await taken.close();
  }));

async function createWeb(client: HttpKubeClient, replicas: number): Promise<void> {
  const labels = { app: "web" };
  const container = { name: "web", image: "web", ports: [{ containerPort: 8080 }] };
  const create = (path: string, body: object) =>
    client.request({ verb: "create", method: "POST", path, body });
  await create("/api/v1/namespaces/default/services", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web" },
    spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
  });
  await create("/apis/apps/v1/namespaces/default/deployments", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  });
}

async function publishedAddresses(client: HttpKubeClient): Promise<readonly string[]> {
  const endpoints = await get(client, "/api/v1/namespaces/default/endpoints/web");
  return listAt(endpoints, "subsets")
    .filter(isRecord)
    .flatMap((subset) => listAt(subset, "addresses").filter(isRecord))
    .map((address) => String(address["ip"]))
    .toSorted();
}

async function get(client: HttpKubeClient, path: string): Promise<RawRecord> {
  const answer = parseJson(await client.request({ verb: "get", method: "GET", path }));
  return isRecord(answer) ? answer : {};
}
