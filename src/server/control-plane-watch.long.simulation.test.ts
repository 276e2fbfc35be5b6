import { expect, test } from "vitest";
import { minuteMs, withCluster } from "../../tests/doctor/examined-cluster.ts";
import { type KubeClient, StatusError } from "../kube/client/client.ts";
import type { Cluster } from "../lab/cluster.ts";
import type { Stage } from "../lab/incidents/stage.ts";
import { readMetricsPage } from "../lab/probe/metrics-source.ts";
import { createShop, releaseShop } from "../lab/shop.ts";
import { ControlPlaneWatch } from "./control-plane-watch.ts";
import type { SeriesValue } from "./page-source.ts";

/** A simulated machine has no address for the proxy of its pods, so the page is fetched beside it. */
function throughPods(cluster: Cluster, client: KubeClient, stage: Stage): KubeClient {
  const { network } = stage.environmentOf("operator");
  return {
    stream: (request) => client.stream(request),
    request: async (request) => {
      if (!/\/pods\/https?:.*\/proxy\/metrics$/.test(decodeURIComponent(request.path))) {
        return client.request(request);
      }
      const text = await readMetricsPage({ network, url: () => cluster.controlPlane.metricsUrl });
      if (text === undefined)
        throw new StatusError({ code: 503, reason: "ServiceUnavailable", message: "no answer" });
      return { status: 200, headers: {}, body: Buffer.from(text) };
    },
  };
}

function refusing(client: KubeClient, paths: RegExp): KubeClient {
  return {
    stream: (request) => client.stream(request),
    request: async (request) => {
      if (!paths.test(request.path)) return client.request(request);
      throw new StatusError({ code: 403, reason: "Forbidden", message: "forbidden" });
    },
  };
}

interface Watched {
  readonly client: KubeClient;
  readonly stage: Stage;
  readonly metricsUrls?: readonly string[];
}

function watchOf({ client, stage, metricsUrls = [] }: Watched): ControlPlaneWatch {
  const environment = stage.environmentOf("operator");
  const about = { cluster: "blue", version: () => "v1.33.1" };
  return new ControlPlaneWatch({ ...environment, ...about, client, metricsUrls });
}

async function lead(client: KubeClient, stage: Stage): Promise<void> {
  const renewTime = new Date(stage.environmentOf("operator").clock.wallMs()).toISOString();
  await client.request({
    verb: "create",
    method: "POST",
    path: "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
    body: {
      metadata: { name: "kube-controller-manager" },
      spec: {
        holderIdentity: "a",
        leaseDurationSeconds: 15,
        renewTime: renewTime.replace("Z", "000Z"),
      },
    },
  });
}

/** The greatest value of each series while a shop is released. */
async function duringRelease(watch: ControlPlaneWatch, client: KubeClient, stage: Stage) {
  const greatest = new Map<string, SeriesValue>();
  watch.start();
  await stage.sleep(minuteMs / 2);
  await releaseShop(client, "next");
  for (let second = 0; second < 60; second += 1) {
    await stage.sleep(1_000);
    for (const one of watch.charts().series) {
      if ((one.value ?? -1) > (greatest.get(one.id)?.value ?? -1)) greatest.set(one.id, one);
    }
  }
  await watch.stop();
  return greatest;
}

// The pod of 1.17.13 has the flag; without it the default is longer since 1.32.
test.each([
  ["1.17.13", 40_000],
  ["1.33", 50_000],
] as const)(
  "the control plane of a %s cluster is charted through its pods",
  async (profile, graceMs) => {
    await withCluster({ profile }, async (cluster, admin, stage) => {
      await createShop(admin);
      await lead(admin, stage);
      const client = throughPods(cluster, admin, stage);
      const watch = watchOf({ client, stage });
      const greatest = await duringRelease(watch, admin, stage);
      expect(watch.charts().missing).toEqual([]);
      const ids = [...greatest.keys()].sort();
      expect(ids).toEqual(
        expect.arrayContaining([
          "blue heartbeat",
          "blue leader",
          "blue queue depth",
          "blue queue wait",
          "blue requests POST",
          "blue requests PUT",
          "blue writes PUT",
        ]),
      );
      expect(greatest.get("blue requests PUT")?.value).toBeGreaterThan(0);
      expect(greatest.get("blue writes PUT")?.value).toBeGreaterThan(0);
      expect(greatest.get("blue heartbeat")).toMatchObject({ limit: graceMs });
      expect(greatest.get("blue heartbeat")?.value).toBeLessThan(20_000);
      // It is not renewed in this test.
      expect(greatest.get("blue leader")).toMatchObject({ limit: 15_000 });
      expect(greatest.get("blue leader")?.value).toBeGreaterThan(60_000);
    });
  },
);

test("a leader record on Endpoints, as of old versions, is charted", async () => {
  await withCluster({ profile: "1.7" }, async (_cluster, admin, stage) => {
    const renewTime = new Date(stage.environmentOf("operator").clock.wallMs()).toISOString();
    const record = { holderIdentity: "a", leaseDurationSeconds: 20, renewTime };
    const annotations = { "control-plane.alpha.kubernetes.io/leader": JSON.stringify(record) };
    await admin.request({
      verb: "create",
      method: "POST",
      path: "/api/v1/namespaces/kube-system/endpoints",
      body: { metadata: { name: "kube-controller-manager", annotations } },
    });
    const watch = watchOf({ client: admin, stage });
    watch.start();
    await stage.sleep(minuteMs);
    const leader = watch.charts().series.find(({ id }) => id === "blue leader");
    expect(leader).toMatchObject({ limit: 20_000 });
    expect(leader?.value).toBeGreaterThan(40_000);
    expect(watch.charts().missing.join()).not.toMatch(/leader record/);
    await watch.stop();
  });
});

test("a missing permission is named", async () => {
  await withCluster({}, async (_cluster, admin, stage) => {
    await createShop(admin);
    const watch = watchOf({ client: refusing(admin, /\/metrics$|leases/), stage });
    const greatest = await duringRelease(watch, admin, stage);
    expect(watch.charts().missing).toEqual([
      "blue: Missing permission: get pods/proxy. Effect: metrics of controller managers are not read. All permissions are in deploy/rbac/doctor.yaml.",
      "blue: Missing permission: get /metrics. Effect: metrics of the API server are not read. All permissions are in deploy/rbac/doctor.yaml.",
      "blue: Missing permission: list leases. Effect: heartbeats of nodes and leader locks are not examined. All permissions are in deploy/rbac/doctor.yaml.",
    ]);
    expect([...greatest.keys()]).toEqual([]);
  });
});

test("without pods of the control plane the page says so, and an address takes their place", async () => {
  await withCluster({}, async (cluster, admin, stage) => {
    await createShop(admin);
    const client = refusing(admin, /kube-controller-manager%|labelSelector/);
    const managed = watchOf({ client, stage });
    const visible = await duringRelease(managed, admin, stage);
    // The API server counts the writes of a controller manager that it hides.
    expect(visible.get("blue writes PUT")?.value).toBeGreaterThan(0);
    expect(managed.charts().missing.join("\n")).toMatch(/^blue: no queues.*--metrics\.$/m);
    const metricsUrls = [cluster.controlPlane.metricsUrl ?? ""];
    const given = watchOf({ client, stage, metricsUrls });
    const greatest = await duringRelease(given, admin, stage);
    expect(greatest.get("blue queue depth")).toBeDefined();
    expect(given.charts().missing.join()).not.toMatch(/no queues/);
  });
});

/** A server per start time in turn, each with 3 more writes than when it was last asked. */
function behindOneAddress(client: KubeClient, starts: readonly number[]): KubeClient {
  let asked = 0;
  return {
    stream: (request) => client.stream(request),
    request: async (request) => {
      if (request.path !== "/metrics") return client.request(request);
      const start = starts[asked % starts.length] ?? 0;
      const writes = start + 3 * Math.floor(asked / starts.length);
      asked += 1;
      const text =
        `apiserver_request_total{resource="endpoints",verb="PUT"} ${writes}\n` +
        `process_start_time_seconds ${start}\n`;
      return { status: 200, headers: {}, body: Buffer.from(text) };
    },
  };
}

test("each of several API servers behind one address has its own counters", async () => {
  await withCluster({}, async (_cluster, admin, stage) => {
    const watch = watchOf({ client: behindOneAddress(admin, [1_000, 50]), stage });
    watch.start();
    await stage.sleep(3 * minuteMs);
    const writes = watch.charts().series.find(({ id }) => id === "blue writes PUT");
    // 3 in a minute at each of both.
    expect(writes?.value).toBeCloseTo(0.1, 2);
    await watch.stop();
  });
});

test("a cluster that answers no more leaves a gap", async () => {
  await withCluster({}, async (cluster, admin, stage) => {
    const watch = watchOf({ client: throughPods(cluster, admin, stage), stage });
    watch.start();
    await stage.sleep(minuteMs / 2);
    const before = watch.charts().series.filter(({ value }) => value !== null);
    expect(before.length).toBeGreaterThan(0);
    await cluster.stop();
    await stage.sleep(2 * minuteMs);
    expect(watch.charts().series.filter(({ value }) => value !== null)).toEqual([]);
    expect(watch.charts().missing.length).toBeGreaterThan(0);
    await watch.stop();
  });
});
