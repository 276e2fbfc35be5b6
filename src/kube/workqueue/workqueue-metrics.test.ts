import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { simulate } from "../../simulation/simulation.ts";
import { Workqueue } from "./workqueue.ts";

test("the metrics are those of every Kubernetes component", async () => {
  const text = await simulate({ seed: 1 }, async (simulation) => {
    const { clock, timers } = simulation.host("controller");
    const registry = new Registry();
    const queue = new Workqueue({ clock, timers, name: "endpoint", registry });
    queue.add("a");
    queue.add("a");
    queue.add("b");
    await timers.sleep(20);
    await queue.get();
    await timers.sleep(300);
    queue.done("a");
    queue.addRateLimited("a");
    await queue.get();
    await timers.sleep(2_000);
    return await registry.metrics();
  });
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("# HELP"));
  expect(lines).toMatchInlineSnapshot(`
    [
      "# TYPE workqueue_unfinished_work_seconds gauge",
      "workqueue_unfinished_work_seconds{name="endpoint"} 2",
      "# TYPE workqueue_longest_running_processor_seconds gauge",
      "workqueue_longest_running_processor_seconds{name="endpoint"} 2",
      "# TYPE workqueue_depth gauge",
      "workqueue_depth{name="endpoint"} 1",
      "# TYPE workqueue_adds_total counter",
      "workqueue_adds_total{name="endpoint"} 3",
      "# TYPE workqueue_queue_duration_seconds histogram",
      "workqueue_queue_duration_seconds_bucket{le="1e-8",name="endpoint"} 0",
      "workqueue_queue_duration_seconds_bucket{le="1e-7",name="endpoint"} 0",
      "workqueue_queue_duration_seconds_bucket{le="0.000001",name="endpoint"} 0",
      "workqueue_queue_duration_seconds_bucket{le="0.00001",name="endpoint"} 0",
      "workqueue_queue_duration_seconds_bucket{le="0.0001",name="endpoint"} 0",
      "workqueue_queue_duration_seconds_bucket{le="0.001",name="endpoint"} 0",
      "workqueue_queue_duration_seconds_bucket{le="0.01",name="endpoint"} 0",
      "workqueue_queue_duration_seconds_bucket{le="0.1",name="endpoint"} 1",
      "workqueue_queue_duration_seconds_bucket{le="1",name="endpoint"} 2",
      "workqueue_queue_duration_seconds_bucket{le="10",name="endpoint"} 2",
      "workqueue_queue_duration_seconds_bucket{le="+Inf",name="endpoint"} 2",
      "workqueue_queue_duration_seconds_sum{name="endpoint"} 0.34",
      "workqueue_queue_duration_seconds_count{name="endpoint"} 2",
      "# TYPE workqueue_work_duration_seconds histogram",
      "workqueue_work_duration_seconds_bucket{le="1e-8",name="endpoint"} 0",
      "workqueue_work_duration_seconds_bucket{le="1e-7",name="endpoint"} 0",
      "workqueue_work_duration_seconds_bucket{le="0.000001",name="endpoint"} 0",
      "workqueue_work_duration_seconds_bucket{le="0.00001",name="endpoint"} 0",
      "workqueue_work_duration_seconds_bucket{le="0.0001",name="endpoint"} 0",
      "workqueue_work_duration_seconds_bucket{le="0.001",name="endpoint"} 0",
      "workqueue_work_duration_seconds_bucket{le="0.01",name="endpoint"} 0",
      "workqueue_work_duration_seconds_bucket{le="0.1",name="endpoint"} 0",
      "workqueue_work_duration_seconds_bucket{le="1",name="endpoint"} 1",
      "workqueue_work_duration_seconds_bucket{le="10",name="endpoint"} 1",
      "workqueue_work_duration_seconds_bucket{le="+Inf",name="endpoint"} 1",
      "workqueue_work_duration_seconds_sum{name="endpoint"} 0.3",
      "workqueue_work_duration_seconds_count{name="endpoint"} 1",
      "# TYPE workqueue_retries_total counter",
      "workqueue_retries_total{name="endpoint"} 1",
    ]
  `);
});

test("queues of one registry share their metrics, and a queue shut down reports no running work", async () => {
  const values = await simulate({ seed: 1 }, async (simulation) => {
    const { clock, timers } = simulation.host("controller");
    const registry = new Registry();
    const one = new Workqueue({ clock, timers, name: "one", registry });
    const two = new Workqueue({ clock, timers, name: "two", registry });
    one.add("a");
    two.add("a");
    await one.get();
    await two.get();
    one.shutDown();
    await timers.sleep(3_000);
    const metric = registry.getSingleMetric("workqueue_unfinished_work_seconds");
    return (await metric?.get())?.values;
  });
  expect(values).toEqual([{ labels: { name: "two" }, value: 3 }]);
});
