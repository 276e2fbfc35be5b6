import { describe, expect, test } from "vitest";
import { type KubeClient, parseJson, StatusError } from "../../kube/client/client.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { listAt, optionalString, recordAt } from "../../kube/kinds/fields.ts";
import { objectRecord } from "../../kube/kinds/metadata.ts";
import { type LeaderRecord, readLeaderRecord } from "../../kube/leader/lease-record.ts";
import { forEachSeed, isThorough } from "../../simulation/seeds.ts";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import { type Cluster, startCluster } from "../cluster.ts";
import { Ledger } from "../kubelet/ledger.ts";
import type { ProfileName } from "../versions/profiles.ts";

const endpoints = "/api/v1/namespaces/kube-system/endpoints/kube-controller-manager";
const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager";

/** Lease duration and the longest pause between two tries, and a little for the requests. */
const takeOverWithinMs = 15_000 + 2_000 * 2.2 + 500;

async function withTwo(
  profile: ProfileName,
  seed: number,
  run: (simulation: Simulation, cluster: Cluster, client: KubeClient) => Promise<void>,
): Promise<void> {
  await simulate({ seed }, async (simulation) => {
    const user = simulation.host("user");
    const cluster = await startCluster({
      name: "blue",
      environmentOf: (part) => simulation.host(part),
      hostOf: (part) => part,
      ports: [6443],
      nodes: 0,
      podNetwork: "10.7",
      profile,
      controllerManagers: 2,
      ledger: new Ledger(user),
    });
    const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "user" });
    await run(simulation, cluster, client);
    await cluster.stop();
  });
}

async function recordAtPath(client: KubeClient, path: string): Promise<LeaderRecord | undefined> {
  try {
    return readLeaderRecord(parseJson(await client.request({ verb: "get", method: "GET", path })));
  } catch (error) {
    if (error instanceof StatusError && error.code === 404) return undefined;
    throw error;
  }
}

async function createService(client: KubeClient, name: string): Promise<void> {
  await client.request({
    verb: "create",
    method: "POST",
    path: "/api/v1/namespaces/default/services",
    body: { metadata: { name }, spec: { selector: { app: name }, ports: [{ port: 80 }] } },
  });
}

/** The services that have Endpoints. */
async function published(client: KubeClient): Promise<readonly string[]> {
  const path = "/api/v1/namespaces/default/endpoints";
  const list = objectRecord(parseJson(await client.request({ verb: "list", method: "GET", path })));
  return listAt(list, "items").map(
    (item) => optionalString(recordAt(objectRecord(item), "metadata"), "name") ?? "",
  );
}

forEachSeed(
  "of two controller managers one works, and the other takes over when it is gone",
  { seeds: 1 },
  (seed) =>
    withTwo("1.33", seed, async (simulation, cluster, client) => {
      await simulation.sleep(5_000);
      await createService(client, "first");
      await simulation.sleep(1_000);
      expect(await published(client)).toEqual(["first"]);
      const first = await recordAtPath(client, lease);
      const at = first?.holder.startsWith("control-plane-2_") === true ? 1 : 0;
      await cluster.controlPlane.managers[at]?.stop();
      await createService(client, "second");
      await simulation.sleep(1_000);
      expect(await published(client)).toEqual(["first"]);
      await simulation.sleep(takeOverWithinMs);
      expect(await published(client)).toEqual(["first", "second"]);
      const second = await recordAtPath(client, lease);
      expect([second?.holder === first?.holder, second?.transitions]).toEqual([false, 1]);
    }),
);

// Some seconds in all; the test above shows the same of the newest version in every run.
describe.runIf(isThorough(process.env))("an old controller manager", () => {
  test.each<[ProfileName, boolean, boolean]>([
    ["1.7", true, false],
    ["1.17.3", true, true],
    ["1.33", false, true],
  ])(
    "the lock of %s is on Endpoints: %s, on a Lease: %s",
    async (profile, onEndpoints, onLease) => {
      await withTwo(profile, 1, async (simulation, _cluster, client) => {
        await simulation.sleep(5_000);
        const found = [await recordAtPath(client, endpoints), await recordAtPath(client, lease)];
        expect(found.map((record) => record !== undefined)).toEqual([onEndpoints, onLease]);
        const holders = new Set(found.flatMap((record) => record?.holder ?? []));
        expect(holders.size).toBe(1);
        const [holder = ""] = holders;
        // Up to 1.9 the machine's name alone, since then with something of its own behind it.
        const form =
          profile === "1.7" ? /^control-plane(-2)?$/ : /^control-plane(-2)?_[0-9a-f-]{36}$/;
        expect(holder).toMatch(form);
      });
    },
  );

  test("one that cannot renew logs it, ends, and is started again as a standby", async () => {
    await withTwo("1.17.3", 1, async (simulation, _cluster, client) => {
      await simulation.sleep(5_000);
      const before = await recordAtPath(client, endpoints);
      const at = before?.holder.startsWith("control-plane-2_") === true ? 1 : 0;
      const machine = at === 0 ? "blue-control-plane" : "blue-control-plane-2";
      simulation.network.partition(machine, "blue");
      await simulation.sleep(30_000);
      simulation.network.heal(machine, "blue");
      await simulation.sleep(30_000);
      const name = `kube-controller-manager-${at === 0 ? "control-plane" : "control-plane-2"}`;
      const path = `/api/v1/namespaces/kube-system/pods/${name}`;
      const log = await client.request({ verb: "get", method: "GET", path: `${path}/log` });
      const lines = log.body.toString("utf8").split("\n");
      const reported = lines.filter((line) =>
        /leaderelection\.go:2|leaderelection lost/.test(line),
      );
      expect(reported.map((line) => line.slice("I0101 00:00:00.000000       1 ".length))).toEqual([
        "leaderelection.go:242] attempting to acquire leader lease  kube-system/kube-controller-manager...",
        "leaderelection.go:252] successfully acquired lease kube-system/kube-controller-manager",
        "leaderelection.go:288] failed to renew lease kube-system/kube-controller-manager: failed to tryAcquireOrRenew context deadline exceeded",
        "controllermanager.go:279] leaderelection lost",
        "leaderelection.go:242] attempting to acquire leader lease  kube-system/kube-controller-manager...",
      ]);
      const after = await recordAtPath(client, endpoints);
      expect(after?.holder).not.toBe(before?.holder);
      const pod = objectRecord(
        parseJson(await client.request({ verb: "get", method: "GET", path })),
      );
      const [status] = listAt(recordAt(pod, "status"), "containerStatuses").map(objectRecord);
      expect(status?.["restartCount"]).toBe(1);
    });
  });
});
