import { describe, expect, it } from "vitest";
import { parseJson } from "../../kube/client/client.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { recordAt } from "../../kube/kinds/fields.ts";
import { objectRecord } from "../../kube/kinds/metadata.ts";
import { forEachSeed, isThorough } from "../../simulation/seeds.ts";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import { type Cluster, type ClusterOptions, startCluster } from "../cluster.ts";
import {
  ListedServers,
  listChanges,
  listedCounts,
  shareInTurn,
} from "../incidents/apiserver-fight/listed-servers.ts";
import { Ledger } from "../kubelet/ledger.ts";
import { reconcileEveryMs } from "./kubernetes-service-reconciler.ts";

interface Servers {
  readonly simulation: Simulation;
  readonly cluster: Cluster;
  readonly client: HttpKubeClient;
  readonly listed: ListedServers;
}

function withServers(
  seed: number,
  options: { readonly servers: number } & Partial<ClusterOptions>,
  act: (world: Servers) => Promise<void>,
): Promise<void> {
  return simulate({ seed }, async (simulation) => {
    const user = simulation.host("user");
    const cluster = await startCluster({
      name: "blue",
      environmentOf: (part) => simulation.host(part),
      hostOf: (part) => part,
      ports: Array.from({ length: options.servers }, () => 6443),
      serverAddressOf: (server) => `10.0.0.${/\d+$/.exec(server)?.[0] ?? "1"}`,
      nodes: 0,
      podNetwork: "10.7",
      ledger: new Ledger(user),
      ...options,
    });
    const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "user" });
    const listed = new ListedServers({
      ...user,
      client,
      cluster: "blue",
      now: simulation.now.bind(simulation),
    });
    await listed.start();
    await act({ simulation, cluster, client, listed });
  });
}

function resetLines(cluster: Cluster): readonly (readonly string[])[] {
  return cluster.servers.map(({ klog }) =>
    klog
      .lines()
      .map(({ text }) => text)
      .filter((text) => text.includes("Resetting endpoints")),
  );
}

/** Source and text of the lines that a server has logged. */
function messages(cluster: Cluster, server: number): readonly string[] {
  const lines = cluster.servers[server]?.klog.lines() ?? [];
  return lines.map(({ text }) => text.replace(/^[A-Z]\d{4} [\d:.]+ +1 /, ""));
}

/** Every server has had its first round after this time. */
const settledMs = 11_000;
const minuteMs = 60_000;

for (const { servers, changes } of [
  { servers: 4, changes: 24 },
  { servers: 3, changes: 18 },
]) {
  forEachSeed(
    `${servers} servers that count to one replace each other ${changes} times in 60 s, in turn`,
    { seeds: 1 },
    (seed) =>
      withServers(
        seed,
        { servers, profile: "1.17.3", kubernetesService: { reconcilerType: "master-count" } },
        async ({ simulation, cluster, listed }) => {
          await simulation.sleep(settledMs);
          const fromMs = simulation.now();
          const before = resetLines(cluster).map((lines) => lines.length);
          await simulation.sleep(minuteMs);
          const period = { fromMs, toMs: simulation.now() };
          expect(listChanges(listed.history, period)).toBe(changes);
          const history = listed.history.filter(({ atMs }) => atMs > fromMs);
          expect(listedCounts(history)).toEqual({ fewest: 1, most: 1 });
          expect(shareInTurn(history, servers)).toBe(1);
          const lines = resetLines(cluster).map((own, index) => own.length - (before[index] ?? 0));
          expect(lines).toEqual(Array.from({ length: servers }, () => 6));
        },
      ),
  );
}

it("logs the lines of its version, and nothing when the count is right", async () => {
  await withServers(1, { servers: 2, profile: "1.9" }, async ({ simulation, cluster }) => {
    await simulation.sleep(settledMs);
    const [[line = ""] = []] = resetLines(cluster);
    expect(line.replace(/^W\d{4} [\d:.]+ +1 /, "").replace(/[0-9a-f-]{36} \d+/, "UID RV")).toBe(
      'mastercount.go:135] Resetting endpoints for master service "kubernetes" to ' +
        "&{{ } {kubernetes  default /api/v1/namespaces/default/endpoints/kubernetes UID RV 0 " +
        "2026-01-01 00:00:00 +0000 UTC <nil> <nil> map[] map[] [] nil [] } " +
        "[{[{10.0.0.1  <nil> <nil>}] [] [{https 6443 TCP}]}]}",
    );
  });
  const right = { servers: 2, kubernetesService: { apiserverCount: 2 }, profile: "1.9" } as const;
  await withServers(1, right, async ({ simulation, cluster, listed }) => {
    await simulation.sleep(settledMs + minuteMs);
    // Only the second server logs a line, when it joins.
    expect(resetLines(cluster).map((lines) => lines.length)).toEqual([0, 1]);
    expect(listed.history.at(-1)?.addresses).toEqual(["10.0.0.1", "10.0.0.2"]);
  });
});

describe("a server with a lease", () => {
  const all = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];
  const others = ["10.0.0.1", "10.0.0.3"];

  for (const profile of ["1.9", "1.17.3"] as const) {
    const kubernetesService = { reconcilerType: "lease" } as const;
    it(`of ${profile} closes its listener first: when it stops, another server removes it`, () =>
      withServers(
        1,
        { servers: 3, profile, kubernetesService },
        async ({ simulation, cluster, listed }) => {
          await simulation.sleep(settledMs);
          expect(listed.history.at(-1)?.addresses).toEqual(all);
          const stoppedMs = simulation.now();
          await cluster.servers[1]?.stop();
          expect(listed.history.at(-1)?.addresses).toEqual(all);
          await simulation.sleep(reconcileEveryMs);
          expect(listed.history.at(-1)?.addresses).toEqual(others);
          expect((listed.history.at(-1)?.atMs ?? 0) - stoppedMs).toBeGreaterThan(100);
          const source = profile === "1.9" ? "controller.go:158" : "controller.go:183";
          expect(messages(cluster, 1).at(-1)).toBe(
            `${source}] Get https://10.0.0.2:6443/api/v1/namespaces/default/endpoints/kubernetes: ` +
              "dial tcp 10.0.0.2:6443: connect: connection refused",
          );
        },
      ));
  }

  it("of 1.33 leaves before its listener closes", () =>
    withServers(1, { servers: 3, profile: "1.33" }, async ({ simulation, cluster, listed }) => {
      await simulation.sleep(settledMs);
      expect(listed.history.at(-1)?.addresses).toEqual(all);
      await cluster.servers[1]?.stop();
      await simulation.sleep(100);
      expect(listed.history.at(-1)?.addresses).toEqual(others);
      expect(messages(cluster, 1).at(-1)).toBe(
        'lease.go:265] Resetting endpoints for master service "kubernetes" to [10.0.0.1 10.0.0.3]',
      );
    }));

  it("leaves 5 s to 25 s after it was killed", () =>
    withServers(1, { servers: 3, profile: "1.17.3" }, async ({ simulation, listed }) => {
      await simulation.sleep(settledMs);
      simulation.crash("blue-server-3");
      const crashedMs = simulation.now();
      await simulation.sleep(30_000);
      expect(listed.history.at(-1)?.addresses).toEqual(["10.0.0.1", "10.0.0.2"]);
      const leftMs = (listed.history.at(-1)?.atMs ?? 0) - crashedMs;
      // The lease was renewed at most 10 s before, lasts 15 s, and is read every 10 s.
      expect(leftMs).toBeGreaterThan(5_000);
      expect(leftMs).toBeLessThan(25_100);
    }));

  it("logs at its start that it found no old lease, in 1.17", () =>
    withServers(1, { servers: 1, profile: "1.17.3" }, async ({ simulation, cluster }) => {
      await simulation.sleep(settledMs);
      expect(messages(cluster, 0)).toContain(
        "controller.go:151] Unable to remove old endpoints from kubernetes service: StorageError: " +
          "key not found, Code: 1, Key: /registry/masterleases/10.0.0.1, ResourceVersion: 0, " +
          "AdditionalErrorMsg: ",
      );
    }));
});

it("makes the service and, where there are slices, the server's own slice", () =>
  withServers(1, { servers: 1 }, async ({ simulation, client }) => {
    await simulation.sleep(settledMs);
    const get = async (path: string) =>
      objectRecord(parseJson(await client.request({ verb: "get", method: "GET", path })));
    const service = await get("/api/v1/namespaces/default/services/kubernetes");
    expect(recordAt(service, "spec")).toMatchObject({
      clusterIP: "10.96.0.1",
      ports: [{ name: "https", port: 443, protocol: "TCP", targetPort: 6443 }],
    });
    const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
    expect(await get(slices)).toMatchObject({
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true } }],
      ports: [{ name: "https", port: 6443, protocol: "TCP" }],
    });
  }));

describe.runIf(isThorough(process.env))("at length", () => {
  forEachSeed("four servers that count to two always list two", { seeds: 1 }, (seed) =>
    withServers(
      seed,
      { servers: 4, profile: "1.9", kubernetesService: { apiserverCount: 2 } },
      async ({ simulation, listed }) => {
        await simulation.sleep(settledMs + minuteMs);
        const settled = listed.history.filter(({ atMs }) => atMs > settledMs);
        expect(settled.length).toBeGreaterThan(0);
        expect(listedCounts(settled)).toEqual({ fewest: 2, most: 2 });
      },
    ),
  );

  for (const { profile, left } of [
    { profile: "1.9", left: ["10.0.0.1", "10.0.0.2"] },
    { profile: "1.17.3", left: ["10.0.0.1", "10.0.0.2"] },
    { profile: "1.33", left: ["10.0.0.1"] },
  ] as const) {
    it(`lists ${left.length} of 2 servers that count, after one of ${profile} has stopped`, () =>
      withServers(
        1,
        {
          servers: 2,
          profile,
          kubernetesService: { reconcilerType: "master-count", apiserverCount: 2 },
        },
        async ({ simulation, cluster, listed }) => {
          await simulation.sleep(settledMs);
          await cluster.servers[1]?.stop();
          await simulation.sleep(minuteMs);
          expect(listed.history.at(-1)?.addresses).toEqual(left);
        },
      ));
  }

  it("leaves the Endpoints alone with the type none", () =>
    withServers(
      1,
      { servers: 2, kubernetesService: { reconcilerType: "none" } },
      async ({ simulation, listed }) => {
        await simulation.sleep(minuteMs);
        expect(listed.history).toEqual([]);
      },
    ));
});
