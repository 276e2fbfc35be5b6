import { describe, expect, test } from "vitest";
import {
  type ControllerWorld,
  deployment,
  deployments,
  endpoints,
  inControllerWorld,
  service,
  services,
  slices,
} from "../../../tests/controllers/controller-world.ts";
import { objectsAt, textAt, textsAt } from "../../apiserver/kinds/fields.ts";

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

  test("leaves a pod whose node is gone out of its slice, and logs it at each try", async () => {
    await inControllerWorld(async (world) => {
      await world.create(services, service("web"));
      await world.create(deployments, deployment("web", 2));
      await world.live(5000);
      const [lost, staying] = await world.list(pods);
      const node = textAt(lost, "spec", "nodeName");
      await world.call("DELETE", `/api/v1/nodes/${node}`);
      const touched = { metadata: { annotations: { touched: "yes" } } };
      const contentType = "application/merge-patch+json";
      await world.call("PATCH", `${services}/web`, touched, { contentType });
      await world.simulation.sleep(5000);
      const [slice] = await world.list(slices);
      expect(objectsAt(slice, "endpoints").map((one) => textAt(one, "targetRef", "name"))).toEqual([
        staying?.metadata.name,
      ]);
      // Endpoints know no nodes: there the pod stays until it is collected.
      const [subset] = objectsAt(await world.get(`${endpoints}/web`), "subsets");
      expect(addressesOf(subset, "addresses").length).toBe(2);
      const pod = lost?.metadata.name;
      const lines = world.klog.lines().map(({ text }) => text.slice(text.indexOf(" 1 ") + 3));
      const skipped = lines.filter((line) => line.startsWith("reconciler.go"));
      // At once, and after 1 and 2 s more.
      expect(skipped).toEqual(
        Array.from(
          { length: 3 },
          () =>
            'reconciler.go:227] "skipping Pod for Service, Node not found" ' +
            `logger="endpointslice-controller" pod="default/${pod}" service="default/web" ` +
            `node="${node}"`,
        ),
      );
      const events = await world.list(
        "/api/v1/namespaces/default/events?fieldSelector=reason=FailedToUpdateEndpointSlices",
      );
      const message =
        "Error updating Endpoint Slices for Service default/web: " +
        `skipping Pod ${pod} for Service default/web: Node ${node} Not Found`;
      expect(events.map((event) => [event["message"], event["count"]])).toEqual([[message, 3]]);
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
        expect([sizes.length, sizes.reduce((sum, size) => sum + size)]).toEqual([3, 7]);
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
        await world.restart({ "kube-api-qps": 300, "node-monitor-grace-period": 50_000 });
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
          "--mirroring-concurrent-service-endpoint-syncs=5",
          "--concurrent-deployment-syncs=5",
          "--concurrent-replicaset-syncs=5",
          "--concurrent-gc-syncs=20",
          "--max-endpoints-per-slice=100",
          "--mirroring-max-endpoints-per-subset=1000",
          "--endpoint-updates-batch-period=0s",
          "--endpointslice-updates-batch-period=0s",
          "--mirroring-endpointslice-updates-batch-period=0s",
          "--min-resync-period=12h0m0s",
          "--node-monitor-period=5s",
          "--node-monitor-grace-period=50s",
          "--node-startup-grace-period=1m0s",
          "--node-eviction-rate=0.1",
          "--secondary-node-eviction-rate=0.01",
          "--large-cluster-size-threshold=50",
          "--unhealthy-zone-threshold=0.55",
          "--terminated-pod-gc-threshold=12500",
          "--leader-elect=false",
          "--leader-elect-lease-duration=15s",
          "--leader-elect-renew-deadline=10s",
          "--leader-elect-retry-period=2s",
          "--leader-elect-resource-lock=leases",
          "--v=0",
        ]);
        expect(textAt(pod, "status", "phase")).toBe("Running");
        const logs = await world.call("GET", `${path}/log`);
        const starts = logs.text.split("\n").filter((line) => line.includes('"Starting" version'));
        const line = '       1 controllermanager.go:188] "Starting" version="v1.33.0"';
        expect(starts).toEqual([`I0101 00:00:00.007000${line}`, `I0101 00:00:01.007000${line}`]);
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
      expect(names).toEqual([
        "endpoint_slice_controller_changes",
        "endpoint_slice_controller_desired_endpoint_slices",
        "endpoint_slice_controller_endpoints_added_per_sync",
        "endpoint_slice_controller_endpoints_desired",
        "endpoint_slice_controller_endpoints_removed_per_sync",
        "endpoint_slice_controller_endpointslices_changed_per_sync",
        "endpoint_slice_controller_num_endpoint_slices",
        "endpoint_slice_controller_syncs",
        "node_collector_evictions_total",
        "node_collector_unhealthy_nodes_in_zone",
        "node_collector_zone_health",
        "node_collector_zone_size",
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
      const queues = [...text.matchAll(/^workqueue_depth\{name="(\w+)"\}/gm)];
      expect(queues.map(([, name = ""]) => name).sort()).toEqual([
        "deployment",
        "endpoint",
        "endpoint_slice",
        "endpoint_slice_mirroring",
        "garbage_collector_attempt_to_delete",
        "namespace",
        "node_lifecycle_controller",
        "node_lifecycle_controller_pods",
        "noexec_taint_node",
        "noexec_taint_pod",
        "replicaset",
      ]);
      const slices = text.split("\n").filter((line) => /^endpoint_slice_\w+[{ ]/.test(line));
      expect(slices.filter((line) => !/_(bucket|count)/.test(line))).toEqual([
        'endpoint_slice_controller_changes{operation="create"} 1',
        "endpoint_slice_controller_desired_endpoint_slices 1",
        "endpoint_slice_controller_endpoints_added_per_sync_sum 0",
        "endpoint_slice_controller_endpoints_desired 0",
        "endpoint_slice_controller_endpoints_removed_per_sync_sum 0",
        "endpoint_slice_controller_endpointslices_changed_per_sync_sum" +
          '{topology="Disabled",traffic_distribution=""} 1',
        "endpoint_slice_controller_num_endpoint_slices 1",
        'endpoint_slice_controller_syncs{result="success"} 1',
      ]);
      expect(/^workqueue_adds_total\{name="endpoint"\} (\d+)$/m.exec(text)?.[1]).toBe("1");
      expect(text).toMatch(
        /^rest_client_requests_total\{code="201",host="server:6443",method="POST"\} \d+$/m,
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
