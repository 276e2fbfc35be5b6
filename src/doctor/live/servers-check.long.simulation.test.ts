import { expect, test } from "vitest";
import {
  type Examined,
  examine,
  minuteMs,
  named,
  serverAddressOf,
  withCluster,
} from "../../../tests/doctor/examined-cluster.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { fixedAccess } from "../../kube/credentials/credentials.ts";
import type { Cluster } from "../../lab/cluster.ts";

type Play = (cluster: Cluster) => void | Promise<void>;

/** Two servers of one cluster; the doctor is given the first one, and reaches both. */
function examined(profile: "1.9" | "1.33", play: Play): Promise<Examined> {
  const kubernetesService = { reconcilerType: "lease" } as const;
  const options = { profile, ports: [6443, 6443], serverAddressOf, kubernetesService };
  return withCluster(options, async (cluster, client, stage) => {
    await stage.sleep(minuteMs);
    const operator = stage.environmentOf("operator");
    const serverAt = (address: string): KubeClient => {
      const index = Number(/\.(\d+):/.exec(address)?.[1]) - 1;
      const { url = "", token = "" } = cluster.servers[index] ?? {};
      const access = fixedAccess({ name: address, server: url, token });
      return new HttpKubeClient({ ...operator, cluster: access, userAgent: "doctor" });
    };
    // The lab fills a cache when it is first asked; a real server does so as it starts.
    for (const path of ["/api/v1/nodes", "/apis/coordination.k8s.io/v1/leases"]) {
      const cached = { verb: "list", method: "GET", path: `${path}?resourceVersion=0` } as const;
      await serverAt("10.0.0.2:6443")
        .request(cached)
        .catch(() => undefined);
    }
    await play(cluster);
    await stage.sleep(minuteMs);
    return examine(operator, client, { forMs: 5_000, serverAt });
  });
}

test.each(["1.9", "1.33"] as const)("%s: a server whose cache lags is named", async (profile) => {
  const seen = await examined(profile, ({ servers }) => {
    const behind = servers[1];
    if (behind !== undefined) behind.apiServer.faults.cache.cacheLagMs = 45_000;
  });
  const first = "critical stale-cache (likely: one source)";
  expect([named(seen)[0], named(seen.offline)[0]]).toEqual([first, first]);
  expect(seen.findings[0]?.cause).toMatch(
    /^The cache of API server 10\.0\.0\.2:\d+ is behind what is stored, by [3-6]\d/,
  );
  expect(seen.requests).toBeLessThanOrEqual(seen.costs[0]?.total ?? 0);
});

test("servers that are current are listed with their version", async () => {
  const seen = await examined("1.33", () => undefined);
  expect(named(seen)).toEqual([]);
  expect(seen.facts.objects.apiServers.all).toMatchObject([
    { version: "v1.33.0+lockstep", behindMs: 0, object: "lease kube-node-lease/blue-node-1" },
    { version: "v1.33.0+lockstep", behindMs: 0, object: "lease kube-node-lease/blue-node-1" },
  ]);
});

test("a server that does not answer is reported as not examined", async () => {
  const seen = await examined("1.33", ({ servers }) => {
    servers[1]?.apiServer.faults.setRules([
      { match: { userAgent: "doctor" }, resets: { rate: 1 } },
    ]);
  });
  expect(seen.problems.join()).toMatch(/API server 10\.0\.0\.2:\d+: /);
  expect(seen.facts.objects.apiServers.all[1]?.object).toBeUndefined();
  expect(named(seen)).toEqual([]);
});
