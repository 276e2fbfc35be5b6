import { expect, test } from "vitest";
import { MetricsWindow } from "./metrics-window.ts";
import { parsePrometheusText } from "./prometheus-text.ts";
import { queueWindow } from "./queue-window.ts";

test("names, labels and values are read, and what cannot be read is passed over", () => {
  const text = [
    "# HELP workqueue_depth Current depth of workqueue",
    "# TYPE workqueue_depth gauge",
    'workqueue_depth{name="endpoint"} 641',
    'x_bucket{le="+Inf",path="/a\\"b\\\\c}"} 1.5e+03 1731660000000',
    "process_start_time_seconds 1.73166e+09",
    "odd NaN",
    "endless +Inf",
    'broken{name="a" 1',
    "wrong value",
    "",
  ].join("\n");
  expect(parsePrometheusText(text)).toEqual([
    { name: "workqueue_depth", labels: new Map([["name", "endpoint"]]), value: 641 },
    {
      name: "x_bucket",
      labels: new Map([
        ["le", "+Inf"],
        ["path", '/a"b\\c}'],
      ]),
      value: 1500,
    },
    { name: "process_start_time_seconds", labels: new Map(), value: 1.73166e9 },
    { name: "odd", labels: new Map(), value: Number.NaN },
    { name: "endless", labels: new Map(), value: Number.POSITIVE_INFINITY },
  ]);
  expect(parsePrometheusText(text, (name) => name === "odd")).toHaveLength(1);
});

function windowOf(earlier: string, later: string): MetricsWindow {
  return new MetricsWindow(
    { atMs: 1_000, samples: parsePrometheusText(earlier) },
    { atMs: 11_000, samples: parsePrometheusText(later) },
  );
}

test("an increase is summed over the series, from zero after a restart or a first sight", () => {
  const window = windowOf(
    'r{verb="GET",host="a"} 10\nr{verb="PUT",host="a"} 100',
    'r{host="a",verb="GET"} 15\nr{verb="PUT",host="a"} 40\nr{verb="PUT",host="b"} 2',
  );
  expect([
    window.seconds,
    window.increase("r"),
    window.increase("r", { verb: "PUT" }),
    window.increase("r", { verb: "POST" }),
    window.value("r", { verb: "PUT" }),
  ]).toEqual([10, 47, 42, undefined, 42]);
});

const recent = (done: number, workSeconds: number, taken: number, queueSeconds: number) => `
workqueue_depth{name="endpoint"} 641
workqueue_depth{name="node"} 1
workqueue_work_duration_seconds_sum{name="endpoint"} ${workSeconds}
workqueue_work_duration_seconds_count{name="endpoint"} ${done}
workqueue_queue_duration_seconds_sum{name="endpoint"} ${queueSeconds}
workqueue_queue_duration_seconds_count{name="endpoint"} ${taken}`;

const old = (done: number, workSeconds: number, taken: number, queueSeconds: number) => `
endpoint_depth 641
endpoint_work_duration_sum ${workSeconds * 1e6}
endpoint_work_duration_count ${done}
endpoint_queue_latency_sum ${queueSeconds * 1e6}
endpoint_queue_latency_count ${taken}`;

test.each([
  [
    "since 1.14",
    recent,
    {
      work: 'workqueue_work_duration_seconds{name="endpoint"}',
      depth: "workqueue_depth",
      queue: "workqueue_queue_duration_seconds",
    },
  ],
  [
    "before 1.14",
    old,
    { work: "endpoint_work_duration", depth: "endpoint_depth", queue: "endpoint_queue_latency" },
  ],
])("a queue is read under the names %s", (_version, page, metrics) => {
  const window = windowOf(page(100, 25, 105, 3_000), page(300, 75, 305, 9_400));
  expect(queueWindow(window, "endpoint")).toEqual({
    name: "endpoint",
    depth: 641,
    done: 200,
    rate: 20,
    meanWorkSeconds: 0.25,
    workSeconds: 50,
    meanQueueSeconds: 32,
    metrics,
  });
  expect(queueWindow(window, "endpoint_slice")).toBeUndefined();
});
