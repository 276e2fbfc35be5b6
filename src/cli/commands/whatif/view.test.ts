import { describe, expect, it } from "vitest";
import { noRequests } from "../../../lab/probe/request-counters.ts";
import { inputNamed } from "../../../lab/whatif/inputs.ts";
import type { NodePrediction } from "../../../lab/whatif/node-run.ts";
import {
  type Prediction,
  type PublishingPrediction,
  withNodes,
} from "../../../lab/whatif/prediction.ts";
import type { Settings } from "../../../lab/whatif/question.ts";
import type { Try } from "../../../lab/whatif/target.ts";
import { paintFor } from "../../terminal/paint.ts";
import { questionOf } from "./question.ts";
import { sweepLines } from "./sweep-lines.ts";
import { targetHead, targetLines, tryLines } from "./target-lines.ts";
import { constraintSentence, type LineOptions, predictionLines } from "./view.ts";

const options: LineOptions = { width: 80, paint: paintFor({ colours: false }) };

const question = questionOf({ preset: "resync-storm", given: {}, seed: 1 });

const waits = { changes: 129, p50Ms: 193_715, p99Ms: 574_000, maxMs: 600_788 };

const publishing: PublishingPrediction = {
  question,
  published: "Endpoints",
  resync: {
    drainMs: 649_500,
    restartDrainMs: 651_000,
    requests: 12_954,
    periodMinMs: 43_200_000,
    periodMaxMs: 86_400_000,
    share: 0.0104,
  },
  waits: {
    anyMoment: { ...waits, p50Ms: 8.45, p99Ms: 12_100, joins: waits, leaves: waits },
    resync: { ...waits, joins: waits, leaves: waits },
    quiet: {
      changes: 40,
      p50Ms: 8.45,
      p99Ms: 9.5,
      maxMs: 9.54,
      joins: undefined,
      leaves: undefined,
    },
    restart: undefined,
  },
  worstWaitMs: 600_788,
  waitGrowth: undefined,
  constraint: {
    name: "limiter",
    evidence: {
      busyShare: 1,
      tokenShare: 0.983,
      serverShare: 0.46,
      requestsPerSecond: 20.05,
      workMs: 249.7,
      answerMs: 4.2,
    },
  },
  isGivenUp: false,
  trace: { depths: [], waits: [] },
  controllerLoad: { mean: { ...noRequests, PUT: 0.21 }, peak: { ...noRequests, PUT: 47 } },
};

const nodes: NodePrediction = {
  flapsPerHour: 24.77,
  outages: { count: 288, p50Ms: 4_768, maxMs: 9_913 },
  noticed: { count: 12, p50Ms: 34_775, maxMs: 41_265 },
  left: { count: 12, p50Ms: 34_780, maxMs: 41_271 },
  requestsPerSecond: { ...noRequests, GET: 0.1, PUT: 0.1 },
  nodeHours: 11.67,
};

const prediction: Prediction = withNodes(publishing, nodes);

function tried(settings: Partial<Settings>, isMet: boolean, drainMs: number): Try {
  const changed = { ...question, settings: { ...question.settings, ...settings } };
  const resync = { ...publishing.resync, drainMs };
  const own = { ...publishing, question: changed, resync, worstWaitMs: drainMs * 0.95 };
  return { settings: changed.settings, prediction: own, isMet };
}

const now = tried({}, false, 649_500);
const most = tried({ qps: 5_000, burst: 7_500, workers: 100 }, true, 1_110);
const lower = tried({ qps: 1_600, burst: 2_400, workers: 100 }, false, 6_770);
const found = tried({ qps: 2_000, burst: 3_000, workers: 10 }, true, 4_910);

it("shows a prediction", () => {
  expect(`\n${predictionLines(prediction, options).join("\n")}\n`).toMatchInlineSnapshot(`
    "
    The cluster
      12,988 services (12,954 headless), 12,988 pods, 10 nodes; no pod changes
      except the measured ones; API server without a write limit, 3 ms per write
      when idle
    The settings: Kubernetes 1.17.3
      --kube-api-qps=20 --kube-api-burst=30 --concurrent-endpoint-syncs=5
      --min-resync-period=12h --endpoint-updates-batch-period=0s
      --node-monitor-grace-period=40s
      kubelets renew their Lease every 10 s to 10.4 s

    Wait until a pod change is listed in Endpoints
                                         p50           p99           max  changes
      random time                    8.45 ms        12.1 s    10 min 1 s      129
      · addition                  3 min 14 s    9 min 34 s    10 min 1 s      129
      · removal                   3 min 14 s    9 min 34 s    10 min 1 s      129
      during a resync             3 min 14 s    9 min 34 s    10 min 1 s      129
      no resync                      8.45 ms             –       9.54 ms       40
      during a restart                     –             –             –        0
      A resync takes 1.04 % of the time; the first three rows use this weight.

    A resync of all services
      every 12h to 24h, 12,954 requests, finished in 10 min 50 s
      a restart of the controllers: finished in 10 min 51 s

    Nodes, with a grace period of 40 s
      healthy node marked lost: 24.8 times an hour (in 12 node hours)
        its endpoints are missing for 4.77 s, at most 9.91 s
      dead node marked lost after 34.8 s, at most 41.3 s
        its endpoints are removed after 34.8 s, at most 41.3 s

    Requests a second at the API server
                       total     GET    LIST   WATCH    POST     PUT   PATCH  DELETE
      average           2.21       1       0       0       0    1.21       0       0
      busiest second      49       1       0       0       0      48       0       0

    Bottleneck: the client's rate limit
      Workers spent 98.3 % of their time waiting for the client rate limit. Rate:
      20.1 requests a second, allowed 20. Time per key: 250 ms (workers ÷ qps: 250
      ms). Answer time of the API server: 4.2 ms.
      More workers would not help; a higher --kube-api-qps would.
    "
  `);
});

it("says where no quiet times are and what could not be waited for", () => {
  const never = {
    ...prediction,
    resync: {
      ...publishing.resync,
      drainMs: undefined,
      restartDrainMs: undefined,
      requests: undefined,
      periodMinMs: 30_000,
      periodMaxMs: 30_000,
      share: 1,
    },
    waits: { ...publishing.waits, quiet: undefined },
    nodes: { ...nodes, flapsPerHour: 0, outages: undefined, noticed: undefined, left: undefined },
  };
  expect(`\n${predictionLines(never, options).slice(9, 27).join("\n")}\n`).toMatchInlineSnapshot(`
    "

    Wait until a pod change is listed in Endpoints
                                         p50           p99           max  changes
      random time                    8.45 ms        12.1 s    10 min 1 s      129
      · addition                  3 min 14 s    9 min 34 s    10 min 1 s      129
      · removal                   3 min 14 s    9 min 34 s    10 min 1 s      129
      during a resync             3 min 14 s    9 min 34 s    10 min 1 s      129
      no resync                            –             –             –        0
      during a restart                     –             –             –        0
      saturated: the queue is never empty, so there is no time without a resync. The
      wait no longer grows, because a service is in the queue only once.

    A resync of all services
      every 30s, not finished before the next one
      a restart of the controllers: not finished before the next one

    Nodes, with a grace period of 40 s
      healthy node marked lost: never (in 12 node hours)
    "
  `);
});

it("gives no wait of a saturated queue, only by how much it grows", () => {
  const none = { anyMoment: undefined, resync: undefined, quiet: undefined, restart: undefined };
  const resync = { ...publishing.resync, drainMs: undefined, restartDrainMs: undefined, share: 1 };
  const growing = {
    ...prediction,
    waits: none,
    resync: { ...resync, requests: undefined },
    worstWaitMs: undefined,
    waitGrowth: 0.53,
  };
  expect(
    `\n${predictionLines(growing, options).slice(10, 20).join("\n")}\n`,
  ).toMatchInlineSnapshot(`
    "
    Wait until a pod change is listed in Endpoints
      saturated: the wait grows by 530 ms every second.
      More changes arrive than the limits allow, so there is no typical wait. This
      is measured while the queue fills; the growth ends at the latest when every
      service is in the queue.

    A resync of all services
      every 12h to 24h, never finished
      a restart of the controllers: never finished

    "
  `);
  expect(predictionLines({ ...growing, waitGrowth: 0.02 }, options)[11]).toBe(
    "  saturated: the wait grows by 1.2 s every minute.",
  );
  const input = inputNamed("qps");
  const rows = [20, 320].map((value) => ({
    value,
    question,
    publishing: value === 20 ? growing : publishing,
  }));
  expect(input && `\n${sweepLines(input, rows, options).join("\n")}\n`).toMatchInlineSnapshot(`
    "
         qps   resync time   p99, resync  longest wait  limit     longest wait
          20         never             –         grows  limiter   ██████████████████
         320   10 min 50 s    9 min 34 s    10 min 1 s  limiter   ██████████████████
    "
  `);
});

describe("a search", () => {
  const shown = (answer: {
    found: Try | undefined;
    cheaper: readonly Try[];
    tries: readonly Try[];
  }) =>
    `\n${[
      ...targetHead(5_000, options),
      ...answer.tries.flatMap((one) => tryLines(one, options)),
      ...targetLines(question, { targetMs: 5_000, ...answer }, options),
    ].join("\n")}\n`;

  it("shows every try, the cheapest that meets the target and the next cheaper", () => {
    const answer = { found, cheaper: [lower], tries: [now, most, lower, found] };
    expect(shown(answer)).toMatchInlineSnapshot(`
      "
      Target: no change waits longer than 5 s
        without a resync, during a restart, or at the end of a resync

        version      qps   burst  workers   resync time  longest wait  limit
        1.17.3        20      30        5   10 min 50 s   10 min 17 s  limiter   ✗ no
        1.17.3     5,000   7,500      100        1.11 s        1.05 s  limiter   ✓ met
        1.17.3     1,600   2,400      100        6.77 s        6.43 s  limiter   ✗ no
        1.17.3     2,000   3,000       10        4.91 s        4.66 s  limiter   ✓ met

      The cheapest settings that meet 5 s:
          --kube-api-qps=2000
          --kube-api-burst=3000
          --concurrent-endpoint-syncs=10
        Simulated: resync finished in 4.91 s; longest wait of 169 changes: 4.66 s.
        Full prediction: use the same command with --qps 2000 --burst 3000 --workers
        10 and without --target
      The next cheaper settings do not:
          --kube-api-qps=1600 --kube-api-burst=2400 --concurrent-endpoint-syncs=100
            Resync finished in: 6.77 s. Longest wait: 6.43 s. Workers spent 98.3 % of
            their time waiting for the client rate limit. Rate: 20.1 requests a
            second, allowed 1,600. Time per key: 250 ms (workers ÷ qps: 62.5 ms).
            Answer time of the API server: 4.2 ms.
      "
    `);
  });

  it("names the version where no flags help", () => {
    const upgrade = tried({ version: "1.17.13" }, true, 3);
    const answer = { found: upgrade, cheaper: [lower], tries: [now, lower, upgrade] };
    expect(shown(answer)).toMatchInlineSnapshot(`
      "
      Target: no change waits longer than 5 s
        without a resync, during a restart, or at the end of a resync

        version      qps   burst  workers   resync time  longest wait  limit
        1.17.3        20      30        5   10 min 50 s   10 min 17 s  limiter   ✗ no
        1.17.3     1,600   2,400      100        6.77 s        6.43 s  limiter   ✗ no
        1.17.13       20      30        5          3 ms       2.85 ms  limiter   ✓ met

      No flags meet 5 s (bottleneck: limiter). This does:
          Kubernetes 1.17.13, and the flags as they are:
          --kube-api-qps=20 --kube-api-burst=30 --concurrent-endpoint-syncs=5
        Simulated: resync finished in 3 ms; longest wait of 169 changes: 2.85 ms.
        Full prediction: use the same command with --kube-version 1.17.13 and without
        --target
      The next cheaper settings do not:
          --kube-api-qps=1600 --kube-api-burst=2400 --concurrent-endpoint-syncs=100
            Resync finished in: 6.77 s. Longest wait: 6.43 s. Workers spent 98.3 % of
            their time waiting for the client rate limit. Rate: 20.1 requests a
            second, allowed 1,600. Time per key: 250 ms (workers ÷ qps: 62.5 ms).
            Answer time of the API server: 4.2 ms.
      "
    `);
  });

  it("says that nothing helps", () => {
    expect(shown({ found: undefined, cheaper: [lower], tries: [lower] })).toMatchInlineSnapshot(`
      "
      Target: no change waits longer than 5 s
        without a resync, during a restart, or at the end of a resync

        version      qps   burst  workers   resync time  longest wait  limit
        1.17.3     1,600   2,400      100        6.77 s        6.43 s  limiter   ✗ no

      No setting meets 5 s.
        Workers spent 98.3 % of their time waiting for the client rate limit. Rate:
        20.1 requests a second, allowed 1,600. Time per key: 250 ms (workers ÷ qps:
        62.5 ms). Answer time of the API server: 4.2 ms.
      "
    `);
  });

  it("says that nothing has to be changed", () => {
    const enough = tried({}, true, 100);
    expect(shown({ found: enough, cheaper: [], tries: [enough] })).toMatchInlineSnapshot(`
      "
      Target: no change waits longer than 5 s
        without a resync, during a restart, or at the end of a resync

        version      qps   burst  workers   resync time  longest wait  limit
        1.17.3        20      30        5        100 ms         95 ms  limiter   ✓ met

      The current settings already meet 5 s.
        Simulated: resync finished in 100 ms; longest wait of 169 changes: 95 ms.
        Full prediction: use the same command with --qps 20 --burst 30 --workers 5 and
        without --target
      "
    `);
  });
});

it("shows a sweep of what concerns changes", () => {
  const input = inputNamed("qps");
  const rows = [20, 80, 320].map((value) => ({
    value,
    question,
    publishing: tried({}, true, 12_954_000 / value).prediction,
  }));
  expect(input && `\n${sweepLines(input, rows, options).join("\n")}\n`).toMatchInlineSnapshot(`
    "
         qps   resync time   p99, resync  longest wait  limit     longest wait
          20   10 min 48 s    9 min 34 s   10 min 15 s  limiter   ██████████████████
          80    2 min 42 s    9 min 34 s    2 min 34 s  limiter   █████
         320        40.5 s    9 min 34 s        38.5 s  limiter   █
    "
  `);
});

it("reports a sweep that changes nothing", () => {
  const input = inputNamed("qps");
  const { prediction: publishing } = tried({}, true, 5);
  const rows = [20, 320].map((value) => ({ value, question, publishing }));
  expect(input && sweepLines(input, rows, options).slice(-2)).toEqual([
    "",
    "qps changes none of these numbers.",
  ]);
});

it("explains a rate above the limit by the burst", () => {
  const { prediction } = tried({ qps: 18 }, false, 5_000);
  expect(constraintSentence(prediction)).toContain(
    "20.1 requests a second, allowed 18 plus the burst.",
  );
});

it("shows a sweep of what concerns nodes, both sides of it", () => {
  const input = inputNamed("grace-period");
  const rows = [40_000, 60_000].map((value) => ({
    value,
    question,
    nodes: {
      ...nodes,
      flapsPerHour: value > 50_000 ? 0 : 24.77,
      noticed: { count: 12, p50Ms: value - 5_000, maxMs: value + 4_000 },
    },
  }));
  expect(input && `\n${sweepLines(input, rows, options).join("\n")}\n`).toMatchInlineSnapshot(`
    "
    grace-period  flaps/h     dead: p50     dead: max  flaps/h        dead: max
             40s     24.8          35 s          44 s  █████████████  █████████
              1m        0          55 s     1 min 4 s                 █████████████
    "
  `);
});
