import { expect, test } from "vitest";
import { limiterWindow } from "./limiter-window.ts";
import { MetricsWindow } from "./metrics-window.ts";
import { parsePrometheusText } from "./prometheus-text.ts";
import { queueWindow } from "./queue-window.ts";

/** A minute in which 1,200 keys took `workSeconds` each and their requests `requestSeconds`. */
function readMinute(page: (count: number, work: number, request: number) => string) {
  return (workSeconds: number, requestSeconds: number) => {
    const at = (minutes: number) => ({
      atMs: minutes * 60_000,
      samples: parsePrometheusText(
        page(minutes * 1_200, minutes * 1_200 * workSeconds, minutes * 1_200 * requestSeconds),
      ),
    });
    const window = new MetricsWindow(at(1), at(2));
    const queue = queueWindow(window, "endpoint");
    return queue && limiterWindow(window, queue);
  };
}

const before114 = readMinute(
  (count, work, request) => `
endpoint_depth 6400
endpoint_work_duration_sum ${work * 1e6}
endpoint_work_duration_count ${count}
rest_client_request_latency_seconds_sum{url="https://a/x",verb="GET"} ${request}
rest_client_request_latency_seconds_count{url="https://a/x",verb="GET"} ${count}`,
);

const before118 = readMinute(
  (count, work, request) => `
workqueue_work_duration_seconds_sum{name="endpoint"} ${work}
workqueue_work_duration_seconds_count{name="endpoint"} ${count}
rest_client_request_duration_seconds_sum{url="https://a/%7Bprefix%7D",verb="PUT"} ${request}
rest_client_request_duration_seconds_count{url="https://a/%7Bprefix%7D",verb="PUT"} ${count}`,
);

test.each([
  ["1.13", "rest_client_request_latency_seconds", before114],
  ["1.17", "rest_client_request_duration_seconds", before118],
])("%s does not measure the wait: it is the work that no request explains", (_v, metric, read) => {
  const { meanWaitSeconds = 0, waitSeconds = 0, ...rest } = read(0.249, 0.004) ?? {};
  expect([meanWaitSeconds.toFixed(3), waitSeconds.toFixed(0)]).toEqual(["0.245", "294"]);
  expect(rest).toEqual({
    requests: 1_200,
    meanRequestSeconds: expect.closeTo(0.004),
    metric,
    isMeasured: false,
  });
  expect(read(0.703, 0.7)?.meanWaitSeconds.toFixed(3)).toBe("0.003");
});

test("pages that say nothing of requests give nothing", () => {
  const silent = readMinute(
    (count, work) => `endpoint_work_duration_sum ${work}\nendpoint_work_duration_count ${count}`,
  );
  expect(silent(0.249, 0)).toBeUndefined();
});
