import { describe, expect, test } from "vitest";
import { findingText } from "../../cli/terminal/finding-text.ts";
import type { MonotonicMs } from "../../environment/clock.ts";
import type { HopState, Journey } from "../../timeline/journey.ts";
import type { Direction } from "../../timeline/witness.ts";
import { weigh } from "../cause.ts";
import { evidenceOf, type LogEvidence, type MetricsEvidence } from "../evidence/evidence.ts";
import { parsePrometheusText } from "../evidence/prometheus-text.ts";
import { clientThrottling } from "./client-throttling.ts";

type Given = Parameters<typeof evidenceOf>[0];
const examine = (given: Given) => weigh(clientThrottling, evidenceOf(given));

function log(lines: readonly string[], component = "kube-controller-manager"): LogEvidence {
  return { component, source: "kube-system/kube-controller-manager-a", lines };
}

/** As 1.6 and 1.7 wrote it, with 50 workers at 20 qps. */
const throttledLines = Array.from(
  { length: 60 },
  (_, index) =>
    `I0412 22:59:${String(index).padStart(2, "0")}.914517       1 request.go:638] Throttling ` +
    `request took ${index === 41 ? "2.489742918s" : "2.41s"}, request: ` +
    `GET:https://10.3.0.1:443/api/v1/namespaces/shop/endpoints/web-${index}`,
);

interface Load {
  readonly syncs: number;
  readonly workSeconds: number;
  readonly queueSeconds: number;
  readonly depth: number;
  readonly limiterSeconds: number;
  readonly requestSeconds: number;
}

/** A minute of a controller manager with these means. */
function metrics(load: Load): MetricsEvidence {
  const page = (minutes: number) => `
workqueue_depth{name="endpoint"} ${load.depth}
workqueue_work_duration_seconds_sum{name="endpoint"} ${minutes * load.syncs * load.workSeconds}
workqueue_work_duration_seconds_count{name="endpoint"} ${minutes * load.syncs}
workqueue_queue_duration_seconds_sum{name="endpoint"} ${minutes * load.syncs * load.queueSeconds}
workqueue_queue_duration_seconds_count{name="endpoint"} ${minutes * load.syncs}
rest_client_rate_limiter_duration_seconds_sum{verb="PUT"} ${minutes * load.syncs * load.limiterSeconds}
rest_client_rate_limiter_duration_seconds_count{verb="PUT"} ${minutes * load.syncs}
rest_client_request_duration_seconds_sum{verb="PUT"} ${minutes * load.syncs * (load.limiterSeconds + load.requestSeconds)}
rest_client_request_duration_seconds_count{verb="PUT"} ${minutes * load.syncs}`;
  return {
    component: "kube-controller-manager",
    source: "https://10.0.0.7:10257/metrics",
    pages: [1, 2].map((minutes) => ({
      atMs: minutes * 60_000,
      samples: parsePrometheusText(page(minutes)),
    })),
  };
}

/** Measured on 1.17.3: 20 PUTs a second, mean work 0.249 s, five workers. */
const throttledMetrics = metrics({
  syncs: 1_200,
  workSeconds: 0.249,
  queueSeconds: 320,
  depth: 6_400,
  limiterSeconds: 0.245,
  requestSeconds: 0.004,
});

/** Measured on 1.17.3 with 0.7 s for each PUT: 30 workers, 42.6 a second, no wait for tokens. */
const slowServer = metrics({
  syncs: 2_556,
  workSeconds: 0.703,
  queueSeconds: 150,
  depth: 6_400,
  limiterSeconds: 0.0001,
  requestSeconds: 0.7,
});

function journey(direction: Direction, published: HopState): Journey {
  return {
    id: 1,
    endpoint: {
      cluster: "east",
      service: "shop/web",
      address: "10.0.0.1",
      port: 8080,
      podUid: "a",
    },
    podName: "web-0",
    direction,
    cause: undefined,
    origin: { at: 0 as MonotonicMs, notBefore: undefined },
    hops: [{ hop: "published", witness: "east", state: published }],
    outcome: published.type === "shown" ? "complete" : "pending",
  };
}

const lateJourneys = {
  source: "the watches of cluster east",
  nowMs: 120_000,
  journeys: [
    journey("leave", { type: "shown", lagMs: 31_200 }),
    journey("leave", { type: "shown", lagMs: 64_000 }),
    journey("leave", { type: "stuck" }),
    journey("join", { type: "shown", lagMs: 29_000 }),
  ],
};

const quickJourneys = {
  ...lateJourneys,
  journeys: [
    journey("leave", { type: "shown", lagMs: 5 }),
    journey("leave", { type: "shown", lagMs: 6 }),
    journey("leave", { type: "shown", lagMs: 64_000 }),
  ],
};

describe("a throttled controller", () => {
  test("is named with log, metrics and journeys as evidence", () => {
    const finding = examine({
      logs: [log(throttledLines)],
      metrics: [throttledMetrics],
      journeys: lateJourneys,
    });
    expect(finding).toMatchInlineSnapshot(`
      {
        "affected": "All versions, current ones included: the default limit is still 20 requests/s.",
        "cause": "kube-controller-manager's own request limit holds back endpoint changes: its workers wait for the client's rate limit, not for the API server.",
        "confidence": "certain: three sources",
        "consequences": [],
        "evidence": [
          {
            "source": "kube-system/kube-controller-manager-a:42",
            "text": "60 requests for endpoints waited for the client's limit within 59 s, at most 2.49 s (GET /api/v1/namespaces/shop/endpoints/web-41)",
          },
          {
            "source": "https://10.0.0.7:10257/metrics",
            "text": "a request waits 245 ms for the client's limit, the server answers in 4 ms; 4.98 workers are busy at 20 syncs/s of 249 ms each (rest_client_rate_limiter_duration_seconds, workqueue_work_duration_seconds{name="endpoint"})",
          },
          {
            "source": "https://10.0.0.7:10257/metrics",
            "text": "the queue endpoint holds 6400 keys, and those taken had waited 5 min 20 s (workqueue_depth, workqueue_queue_duration_seconds)",
          },
          {
            "source": "the watches of cluster east",
            "text": "3 endpoints left: published after a median of 1 min 4 s, at most 2 min, 1 not yet",
          },
          {
            "source": "the watches of cluster east",
            "text": "1 endpoint joined: published after a median of 29 s, at most 29 s",
          },
        ],
        "fix": {
          "change": "--kube-api-qps=300 --kube-api-burst=325",
          "component": "kube-controller-manager",
          "reason": "All workers of a controller share one limit, so the limit sets how many changes a second are published. More workers (--concurrent-endpoint-syncs) do not help: they wait for the same tokens, each for longer (workers ÷ qps). The log shows that wait alone and never the time a change spent in the queue before it.",
        },
        "hop": "published",
        "missing": [],
        "page": "docs/causes/README.md#client-throttling",
        "rule": "client-throttling",
        "severity": "critical",
      }
    `);
    const text = finding === undefined ? "" : findingText(finding);
    expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
    expect(`\n${text}`).toMatchInlineSnapshot(`
      "
      CRITICAL client-throttling (certain: three sources)
      kube-controller-manager's own request limit holds back endpoint changes: its
      workers wait for the client's rate limit, not for the API server.
      late hop: published
      affected: All versions, current ones included: the default limit is still 20
                requests/s.
      more:     lockstep doctor --explain client-throttling,
                docs/causes/README.md#client-throttling

      Seen
        · 60 requests for endpoints waited for the client's limit within 59 s, at most
          2.49 s (GET /api/v1/namespaces/shop/endpoints/web-41)
          in kube-system/kube-controller-manager-a:42
        · a request waits 245 ms for the client's limit, the server answers in 4 ms;
          4.98 workers are busy at 20 syncs/s of 249 ms each
          (rest_client_rate_limiter_duration_seconds,
          workqueue_work_duration_seconds{name="endpoint"})
          in https://10.0.0.7:10257/metrics
        · the queue endpoint holds 6400 keys, and those taken had waited 5 min 20 s
          (workqueue_depth, workqueue_queue_duration_seconds)
          in https://10.0.0.7:10257/metrics
        · 3 endpoints left: published after a median of 1 min 4 s, at most 2 min, 1
          not yet
          in the watches of cluster east
        · 1 endpoint joined: published after a median of 29 s, at most 29 s
          in the watches of cluster east

      Fix, on kube-controller-manager
      ────────────────────────────────────────────────────────────────────────────────
      --kube-api-qps=300 --kube-api-burst=325
      ────────────────────────────────────────────────────────────────────────────────
      All workers of a controller share one limit, so the limit sets how many changes
      a second are published. More workers (--concurrent-endpoint-syncs) do not help:
      they wait for the same tokens, each for longer (workers ÷ qps). The log shows
      that wait alone and never the time a change spent in the queue before it.
      "
    `);
  });

  test.each<[string, Given, string, string]>([
    ["its log alone", { logs: [log(throttledLines)] }, "likely: one source", "warning"],
    ["its metrics alone", { metrics: [throttledMetrics] }, "likely: one source", "critical"],
    [
      "its log and the journeys",
      { logs: [log(throttledLines)], journeys: lateJourneys },
      "certain: two sources",
      "critical",
    ],
    [
      "its log, while changes are published at once",
      { logs: [log(throttledLines)], journeys: quickJourneys },
      "likely: one source",
      "warning",
    ],
  ])("is found in %s", (_what, evidence, confidence, severity) => {
    const finding = examine(evidence);
    expect(finding && [finding.confidence, finding.severity]).toEqual([confidence, severity]);
  });
});

const discovery = Array.from(
  { length: 60 },
  (_, index) =>
    `I0412 22:59:${String(index).padStart(2, "0")}.914517       1 request.go:601] Waited for ` +
    "1.1s due to client-side throttling, not priority and fairness, request: " +
    `GET:https://10.3.0.1:443/apis/group-${index}/v1?timeout=32s`,
);

const shortWaits = throttledLines.slice(0, 2).map((line) => line.replace("2.41s", "251ms"));

test.each<[string, Given]>([
  ["no evidence", {}],
  ["late journeys without a sign of the cause", { journeys: lateJourneys }],
  [
    "a slow server: deep queue, late changes, no throttling",
    {
      logs: [log(["I0412 22:59:59.914517       1 trace.go:76] Trace[1]: long"])],
      metrics: [slowServer],
      journeys: lateJourneys,
    },
  ],
  [
    "a healthy controller",
    {
      logs: [log([])],
      metrics: [
        metrics({
          syncs: 60,
          workSeconds: 0.005,
          queueSeconds: 0.0001,
          depth: 0,
          limiterSeconds: 0.00001,
          requestSeconds: 0.004,
        }),
      ],
      journeys: quickJourneys,
    },
  ],
  [
    "a queue that is deep because its work is long in itself",
    {
      metrics: [
        metrics({
          syncs: 60,
          workSeconds: 5,
          queueSeconds: 300,
          depth: 900,
          limiterSeconds: 0.1,
          requestSeconds: 0.004,
        }),
      ],
    },
  ],
  [
    "a slow server, while another controller is throttled",
    {
      metrics: [
        metrics({
          syncs: 2_556,
          workSeconds: 0.703,
          queueSeconds: 150,
          depth: 6_400,
          limiterSeconds: 0.4,
          requestSeconds: 0.7,
        }),
      ],
    },
  ],
  [
    "a limit that is high already",
    {
      metrics: [
        metrics({
          syncs: 18_000,
          workSeconds: 0.0167,
          queueSeconds: 20,
          depth: 6_000,
          limiterSeconds: 0.015,
          requestSeconds: 0.001,
        }),
      ],
    },
  ],
  [
    "another controller that is throttled while this one is not behind",
    {
      metrics: [
        metrics({
          syncs: 60,
          workSeconds: 0.005,
          queueSeconds: 0.0001,
          depth: 0,
          limiterSeconds: 0.4,
          requestSeconds: 0.001,
        }),
      ],
    },
  ],
  ["discovery at the start of a process", { logs: [log(discovery)] }],
  ["one or two short waits", { logs: [log(shortWaits)] }],
  ["another program's log", { logs: [log(throttledLines, "lighthouse-agent")] }],
  [
    "a metrics page read only once",
    {
      metrics: [{ ...throttledMetrics, pages: throttledMetrics.pages.slice(0, 1) }],
    },
  ],
])("nothing is found in %s", (_what, evidence) => {
  expect(examine(evidence)).toBeUndefined();
});
