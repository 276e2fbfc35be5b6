import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { inApiWorld } from "../../../tests/apiserver/api-world.ts";
import {
  inControllerWorld,
  service,
  services,
} from "../../../tests/controllers/controller-world.ts";
import { exposition } from "../../components/exposition.ts";
import { defaultMaxAgeMs, GoSummary } from "../../components/go-summary.ts";
import { simulate } from "../../simulation/simulation.ts";
import { type ProfileName, profileNamed } from "./profiles.ts";

test("a page reads as Go's client writes it", async () => {
  const registry = new Registry();
  const registers = [registry];
  const labelNames = ["verb", "code"];
  const histogram = new Histogram({ name: "z", help: "Z", registers, buckets: [0.00001, 2e6] });
  const counter = new Counter({ name: "b_total", help: "B", registers, labelNames });
  const gauge = new Gauge({ name: "a", help: "A", registers });
  new Counter({ name: "never_total", help: "N", registers, labelNames });
  counter.inc({ verb: "PUT", code: "200" }, 1_234_567);
  counter.inc({ verb: 'a "b"\\', code: "200" });
  gauge.set(Number.NaN);
  histogram.observe(0.25);
  expect(await exposition(registry)).toBe(
    [
      "# HELP a A",
      "# TYPE a gauge",
      "a NaN",
      "# HELP b_total B",
      "# TYPE b_total counter",
      'b_total{code="200",verb="PUT"} 1.234567e+06',
      'b_total{code="200",verb="a \\"b\\"\\\\"} 1',
      "# HELP z Z",
      "# TYPE z histogram",
      'z_bucket{le="1e-05"} 0',
      'z_bucket{le="2e+06"} 1',
      'z_bucket{le="+Inf"} 1',
      "z_sum 0.25",
      "z_count 1",
      "",
    ].join("\n"),
  );
});

test("a summary has the quantiles of its window and the sum of everything", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const registry = new Registry();
    const { clock } = simulation.host("h");
    const options = { name: "s", help: "S", labelNames: [], registry, clock };
    const summary = new GoSummary({ ...options, maxAgeMs: defaultMaxAgeMs });
    const values = async () => (await exposition(registry)).split("\n").slice(2, -1);
    const none = ['s{quantile="0.5"} NaN', 's{quantile="0.9"} NaN', 's{quantile="0.99"} NaN'];
    expect(await values()).toEqual([...none, "s_sum 0", "s_count 0"]);
    for (let value = 1; value <= 100; value += 1) summary.record({}, value);
    expect(await values()).toEqual([
      's{quantile="0.5"} 50',
      's{quantile="0.9"} 90',
      's{quantile="0.99"} 99',
      "s_sum 5050",
      "s_count 100",
    ]);
    await simulation.sleep(defaultMaxAgeMs + 1);
    expect(await values()).toEqual([...none, "s_sum 5050", "s_count 100"]);
  }));

const requestCounts: Readonly<Record<Exclude<ProfileName, "1.17.13" | "1.36">, string>> = {
  "1.7":
    'apiserver_request_count{client="kubectl/v1",code="200",contentType="application/json",' +
    'resource="pods",subresource="",verb="LIST"} 1',
  "1.9":
    'apiserver_request_count{client="kubectl/v1",code="200",contentType="application/json",' +
    'resource="pods",scope="namespace",subresource="",verb="LIST"} 1',
  "1.17.3":
    'apiserver_request_total{client="kubectl/v1",code="200",component="apiserver",' +
    'contentType="application/json",dry_run="",group="",resource="pods",scope="namespace",' +
    'subresource="",verb="LIST",version="v1"} 1',
  "1.33":
    'apiserver_request_total{code="200",component="apiserver",dry_run="",group="",' +
    'resource="pods",scope="namespace",subresource="",verb="LIST",version="v1"} 1',
};

test.each(Object.entries(requestCounts))(
  "an API server of %s counts requests under the names of its time",
  async (profile, line) => {
    const name = profile === "1.7" || profile === "1.9" || profile === "1.17.3" ? profile : "1.33";
    const { requests } = profileNamed(name).formats;
    await inApiWorld(
      async ({ call }) => {
        const headers = { "user-agent": "kubectl/v1" };
        await call("GET", "/api/v1/namespaces/default/pods", undefined, { headers });
        const { text } = await call("GET", "/metrics");
        const counts = text.split("\n").filter((one) => one.startsWith(`${requests.total.name}{`));
        expect(counts).toEqual([line]);
      },
      { requestMetrics: requests },
    );
  },
);

test("an old API server has its latencies in microseconds, as buckets and as quantiles", async () => {
  await inApiWorld(
    async ({ call, server }) => {
      server.faults.setRules([{ match: {}, latency: 700 }]);
      await call("GET", "/api/v1/namespaces/default/pods");
      server.faults.setRules([]);
      const { text } = await call("GET", "/metrics");
      const place = 'resource="pods",subresource="",verb="LIST"';
      const own = text.split("\n").filter((one) => one.includes(place) && !one.includes("client="));
      const bucket = (bound: string, count: number) =>
        `apiserver_request_latencies_bucket{${place},le="${bound}"} ${count}`;
      const summary = "apiserver_request_latencies_summary";
      expect(own.map((one) => one.replace(/700\d{3}(\.\d+)?$/, "700ms"))).toEqual([
        bucket("125000", 0),
        bucket("250000", 0),
        bucket("500000", 0),
        bucket("1e+06", 1),
        bucket("2e+06", 1),
        bucket("4e+06", 1),
        bucket("8e+06", 1),
        bucket("+Inf", 1),
        `apiserver_request_latencies_sum{${place}} 700ms`,
        `apiserver_request_latencies_count{${place}} 1`,
        ...[0.5, 0.9, 0.99].map((at) => `${summary}{${place},quantile="${at}"} 700ms`),
        `${summary}_sum{${place}} 700ms`,
        `${summary}_count{${place}} 1`,
      ]);
    },
    { requestMetrics: profileNamed("1.7").formats.requests },
  );
});

const controllerNames: Readonly<
  Record<Exclude<ProfileName, "1.17.13" | "1.36">, readonly string[]>
> = {
  "1.7": [
    "endpoint_adds",
    "endpoint_depth",
    "endpoint_queue_latency",
    "endpoint_retries",
    "endpoint_work_duration",
    "rest_client_request_latency_seconds",
    "rest_client_requests_total",
  ],
  "1.9": [
    "endpoint_adds",
    "endpoint_depth",
    "endpoint_queue_latency",
    "endpoint_retries",
    "endpoint_work_duration",
    "rest_client_request_latency_seconds",
    "rest_client_requests_total",
  ],
  "1.17.3": [
    "rest_client_request_duration_seconds",
    "rest_client_requests_total",
    "workqueue_adds_total",
    "workqueue_depth",
    "workqueue_longest_running_processor_seconds",
    "workqueue_queue_duration_seconds",
    "workqueue_retries_total",
    "workqueue_unfinished_work_seconds",
    "workqueue_work_duration_seconds",
  ],
  "1.33": [
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
  ],
};

const requestUrls: Readonly<Partial<Record<string, string>>> = {
  "1.7":
    'url="https://server:6443/api/v1/namespaces/%7Bnamespace%7D/endpoints/%7Bname%7D",verb="GET"',
  "1.9": 'url="https://server:6443/api/v1/namespaces/%7Bnamespace%7D/endpoints",verb="POST"',
  "1.17.3": 'url="https://server:6443/%7Bprefix%7D",verb="POST"',
  "1.33": 'host="server:6443",verb="POST"',
};

test.each(Object.entries(controllerNames))(
  "a controller manager of %s shows queues and requests under the names of its time",
  async (version, names) => {
    const profile =
      version === "1.7" || version === "1.9" || version === "1.17.3" ? version : "1.33";
    await inControllerWorld(
      async (world) => {
        await world.create(services, service("web"));
        await world.simulation.sleep(1000);
        const url = "http://master:10257/metrics";
        const response = await world.client.network.request({ method: "GET", url });
        let text = "";
        for await (const chunk of response.body) text += Buffer.from(chunk).toString("utf8");
        const shown = [...text.matchAll(/^# TYPE (\S+) \w+$/gm)].map(([, name = ""]) => name);
        expect(
          shown.filter((name) => /^(endpoint_(?!slice)|rest_client_|workqueue_)/.test(name)),
        ).toEqual(names);
        expect(text).toContain(`_seconds_count{${requestUrls[version]}}`);
      },
      { profile },
    );
  },
);
