import { describe, expect, test } from "vitest";
import { objectsAt, textAt, textsAt } from "../apiserver/kinds/fields.ts";
import {
  type ControllerWorld,
  deployment,
  deployments,
  endpoints,
  inControllerWorld,
  service,
  services,
  slices,
} from "./controller-world.contract.ts";

const pods = "/api/v1/namespaces/default/pods";
describe("a service", () => {
  test("loses a pod from both published forms as soon as the pod is to go", async () => {
    await inControllerWorld(async (world) => {
      await world.create(services, service("web"));
      await world.create(deployments, deployment("web", 2));
      await world.live(10_000);
      const [leaving, staying] = await world.list(pods);
      await world.call("DELETE", `${pods}/${leaving?.metadata.name}`);
      await world.simulation.sleep(100);
      const published = objectsAt(await world.get(`${endpoints}/web`), "subsets");
      expect(published.flatMap((subset) => addressesOf(subset, "addresses"))).toEqual([
        textAt(staying, "status", "podIP"),
      ]);
      const [slice] = await world.list(slices);
      const conditions = objectsAt(slice, "endpoints").map((endpoint) => [
        textsAt(endpoint, "addresses")[0],
        endpoint["conditions"],
      ]);
      expect(Object.fromEntries(conditions)).toMatchObject({
        [textAt(staying, "status", "podIP")]: { ready: true, serving: true, terminating: false },
        [textAt(leaving, "status", "podIP")]: { ready: false, serving: true, terminating: true },
      });
    });
  });

  test("without pods has empty Endpoints and one slice without endpoints", async () => {
    await inControllerWorld(async (world) => {
      await world.create(services, service("web"));
      await world.simulation.sleep(3000);
      const published = await world.get(`${endpoints}/web`);
      expect(objectsAt(published, "subsets")).toEqual([]);
      expect(published.metadata.labels).toEqual({
        app: "web",
        "endpoints.kubernetes.io/managed-by": "endpoint-controller",
      });
      const all = await world.list(slices);
      expect(all.map((slice) => [slice["endpoints"] ?? [], slice["ports"] ?? []])).toEqual([
        [[], []],
      ]);
    });
  });

  test("takes its Endpoints and slices with it when it is deleted", async () => {
    await inControllerWorld(async (world) => {
      await world.create(services, service("web"));
      await world.create(deployments, deployment("web", 2));
      await world.live(5000);
      await world.call("DELETE", `${services}/web`);
      await world.live(5000);
      expect([...(await world.list(endpoints)), ...(await world.list(slices))]).toEqual([]);
    });
  });

  test("with more pods than a slice may hold has no more slices than it needs", async () => {
    await inControllerWorld(
      async (world) => {
        await world.create(services, service("web"));
        await world.create(deployments, deployment("web", 7));
        await world.live(20_000);
        const sizes = (await world.list(slices)).map(
          (slice) => objectsAt(slice, "endpoints").length,
        );
        expect(sizes.sort((one, other) => one - other)).toEqual([2, 2, 3]);
      },
      { flags: { "max-endpoints-per-slice": 3 } },
    );
  });
});

describe("the process", () => {
  test("is a running pod in kube-system whose command shows the flags of this run", async () => {
    await inControllerWorld(
      async (world) => {
        await world.simulation.sleep(1000);
        await world.restart({ "kube-api-qps": 300 });
        await world.simulation.sleep(1000);
        const path = "/api/v1/namespaces/kube-system/pods/kube-controller-manager-master";
        const pod = await world.get(path);
        const [container] = objectsAt(pod, "spec", "containers");
        expect(textsAt(container, "command")).toEqual([
          "kube-controller-manager",
          "--kube-api-qps=300",
          "--kube-api-burst=30",
          "--concurrent-endpoint-syncs=5",
          "--concurrent-service-endpoint-syncs=5",
          "--concurrent-deployment-syncs=5",
          "--concurrent-replicaset-syncs=5",
          "--concurrent-gc-syncs=20",
          "--max-endpoints-per-slice=100",
          "--endpoint-updates-batch-period=0s",
          "--endpointslice-updates-batch-period=0s",
          "--min-resync-period=43200s",
          "--v=0",
        ]);
        expect(textAt(pod, "status", "phase")).toBe("Running");
        const logs = await world.call("GET", `${path}/log?tailLines=1`);
        expect(logs.text).toBe(
          'I0101 00:00:01.005000       1 controllermanager.go:189] "Starting" version="v1.33.0"\n',
        );
      },
      { flags: { "kube-api-qps": 20 } },
    );
  });

  test("shows its queues and its requests under the names Kubernetes uses", async () => {
    await inControllerWorld(async (world) => {
      await world.create(services, service("web"));
      await world.simulation.sleep(1000);
      const text = await scrape(world);
      const names = [...text.matchAll(/^# TYPE (\S+) \w+$/gm)].map(([, name = ""]) => name);
      expect(names.sort()).toEqual([
        "process_start_time_seconds",
        "rest_client_rate_limiter_duration_seconds",
        "rest_client_request_duration_seconds",
        "rest_client_requests_total",
        "workqueue_adds_total",
        "workqueue_depth",
        "workqueue_longest_running_processor_seconds",
        "workqueue_queue_duration_seconds",
        "workqueue_retries_total",
        "workqueue_unfinished_work_seconds",
        "workqueue_work_duration_seconds",
      ]);
      expect(/^workqueue_adds_total\{name="endpoint"\} (\d+)$/m.exec(text)?.[1]).toBe("1");
      expect(text).toMatch(
        /^rest_client_requests_total\{code="201",method="POST",host="server:6443"\} 2$/m,
      );
    });
  });
});

function addressesOf(subset: unknown, field: string): readonly string[] {
  return objectsAt(subset, field).map((address) => textAt(address, "ip"));
}

async function scrape({ client }: ControllerWorld): Promise<string> {
  const url = "http://master:10257/metrics";
  const response = await client.network.request({ method: "GET", url });
  let text = "";
  for await (const chunk of response.body) text += Buffer.from(chunk).toString("utf8");
  return text;
}
