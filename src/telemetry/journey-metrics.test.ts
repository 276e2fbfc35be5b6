import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import { Timeline } from "../timeline/timeline.ts";
import type { Direction, Witness } from "../timeline/witness.ts";
import {
  JourneyMetrics,
  type JourneyMetricsOptions,
  type MeasuredCluster,
} from "./journey-metrics.ts";

const pod: Witness = { hop: "pod", name: "east" };
const published: Witness = { hop: "published", name: "east" };

/** Timeline whose reports are made by hand, at given instants. */
function world(options: Partial<JourneyMetricsOptions> = {}) {
  const registry = options.registry ?? new Registry();
  let nowMs = 0;
  const clock = {
    monotonicMs: () => nowMs as MonotonicMs,
    wallMs: () => nowMs as WallMs,
  };
  const metrics = new JourneyMetrics({ ...options, registry, clock });
  const journeys = new Timeline({ onEvent: metrics.onEvent });
  const clusters: MeasuredCluster[] = [];
  const stop = metrics.measure({ journeys, clusters: () => clusters });
  const follow = (cluster: string, service: string) => {
    for (const witness of [pod, published]) {
      journeys.follow({ ...witness, name: cluster }, { cluster, service });
    }
  };
  return {
    registry,
    metrics,
    journeys,
    clusters,
    stop,
    follow,
    goTo: (at: number) => {
      nowMs = at;
      journeys.advance(clock.monotonicMs());
    },
    say: (
      at: number,
      witness: Witness,
      direction: Direction,
      podUid: string,
      more: { readonly service?: string; readonly cluster?: string; readonly since?: number } = {},
    ) => {
      nowMs = at;
      const { cluster = "east", service = "shop/web", since } = more;
      const endpoint = { cluster, service, address: `10.0.0.${podUid}`, port: 8080, podUid };
      const interval = since === undefined ? {} : { notBefore: since as MonotonicMs };
      const name = cluster;
      journeys.report({
        witness: { ...witness, name },
        direction,
        at: at as MonotonicMs,
        endpoint,
        ...interval,
      });
    },
    /** The lines of these metrics; of lags only those that count something. */
    lines: async (...names: readonly string[]) => {
      const asked = ({ name: one }: { readonly name: string }) =>
        names.some((name) => name.startsWith(one) || one.startsWith(name));
      const metrics = registry.getMetricsAsArray().filter(asked);
      const texts = await Promise.all(
        metrics.map(({ name }) => registry.getSingleMetricAsString(name)),
      );
      return texts
        .flatMap((text) => text.split("\n"))
        .filter((line) => names.some((name) => line.startsWith(name)))
        .filter((line) => !/_lags?_/.test(line) || !line.endsWith(" 0"));
    },
  };
}

test("a lag is counted in its bucket, by cluster, hop and direction, naming no address", async () => {
  const { say, follow, lines, registry } = world();
  follow("east", "shop/web");
  say(0, pod, "join", "1");
  say(4_000_000, published, "join", "1");
  expect(
    await lines(
      'lockstep_journey_lag_seconds_bucket{le="7200"',
      "lockstep_journey_lag_seconds_sum",
    ),
  ).toMatchInlineSnapshot(`
    [
      "lockstep_journey_lag_seconds_bucket{le="7200",cluster="east",hop="pod",direction="join"} 1",
      "lockstep_journey_lag_seconds_bucket{le="7200",cluster="east",hop="published",direction="join"} 1",
      "lockstep_journey_lag_seconds_sum{cluster="east",hop="published",direction="join"} 4000",
    ]
  `);
  expect(await registry.metrics()).not.toMatch(/10\.0\.0\.|shop/);
});

test("what is pending shows its age, also the hop that nothing has reached yet", async () => {
  const { say, follow, goTo, lines, stop } = world();
  follow("east", "shop/web");
  say(0, pod, "join", "1");
  say(1_000, published, "join", "1");
  say(40_000, pod, "leave", "1");
  goTo(4_000_000);
  expect(await lines("lockstep_journey_oldest")).toMatchInlineSnapshot(`
    [
      "lockstep_journey_oldest_pending_seconds{cluster="east",hop="pod",direction="join"} 0",
      "lockstep_journey_oldest_pending_seconds{cluster="east",hop="published",direction="join"} 0",
      "lockstep_journey_oldest_pending_seconds{cluster="east",hop="pod",direction="leave"} 0",
      "lockstep_journey_oldest_pending_seconds{cluster="east",hop="published",direction="leave"} 3960",
    ]
  `);
  stop();
  expect(await lines("lockstep_journey_reports_total")).toEqual([]);
});

test("stuck and ended changes are counted from zero, so that the first one is an increase", async () => {
  const { say, follow, goTo, lines } = world();
  follow("east", "shop/web");
  say(0, pod, "join", "1");
  const names = ["lockstep_journey_stuck_total", "lockstep_journeys_total"];
  const before = await lines(...names);
  expect(before).toHaveLength(20);
  expect(before.filter((line) => !line.endsWith(" 0"))).toEqual([]);
  goTo(31_000);
  say(31_200, published, "join", "1");
  const after = await lines(...names);
  expect(after.filter((line) => !line.endsWith(" 0"))).toMatchInlineSnapshot(`
    [
      "lockstep_journey_stuck_total{cluster="east",hop="published",direction="join"} 1",
      "lockstep_journeys_total{cluster="east",direction="join",outcome="complete"} 1",
    ]
  `);
});

test("lags are counted from zero too, and of a hop without a source not at all", async () => {
  const { say, follow, registry } = world();
  follow("east", "shop/web");
  say(0, pod, "join", "1");
  const counts = async () =>
    (await registry.metrics())
      .split("\n")
      .filter((line) => line.startsWith("lockstep_journey_lag_seconds_count"));
  expect(await counts()).toMatchInlineSnapshot(`
    [
      "lockstep_journey_lag_seconds_count{cluster="east",hop="pod",direction="join"} 1",
      "lockstep_journey_lag_seconds_count{cluster="east",hop="pod",direction="leave"} 0",
      "lockstep_journey_lag_seconds_count{cluster="east",hop="published",direction="join"} 0",
      "lockstep_journey_lag_seconds_count{cluster="east",hop="published",direction="leave"} 0",
    ]
  `);
  say(1, { hop: "routed", name: "proxy-1" }, "join", "1");
  expect((await counts()).slice(4)).toMatchInlineSnapshot(`
    [
      "lockstep_journey_lag_seconds_count{cluster="east",hop="routed",direction="join"} 1",
      "lockstep_journey_lag_seconds_count{cluster="east",hop="routed",direction="leave"} 0",
    ]
  `);
});

test("lags from an interval are counted from zero as well, of every hop that is reported", async () => {
  const { say, follow, registry } = world();
  follow("east", "shop/web");
  say(0, pod, "join", "1");
  const counts = async () =>
    (await registry.getSingleMetricAsString("lockstep_journey_interval_lags_total"))
      .split("\n")
      .filter((line) => line.startsWith("lockstep_"));
  expect(await counts()).toMatchInlineSnapshot(`
    [
      "lockstep_journey_interval_lags_total{cluster="east",hop="pod",direction="join"} 0",
      "lockstep_journey_interval_lags_total{cluster="east",hop="pod",direction="leave"} 0",
      "lockstep_journey_interval_lags_total{cluster="east",hop="published",direction="join"} 0",
      "lockstep_journey_interval_lags_total{cluster="east",hop="published",direction="leave"} 0",
    ]
  `);
  say(1, { hop: "routed", name: "proxy-1" }, "join", "1");
  expect((await counts()).slice(4)).toMatchInlineSnapshot(`
    [
      "lockstep_journey_interval_lags_total{cluster="east",hop="routed",direction="join"} 0",
      "lockstep_journey_interval_lags_total{cluster="east",hop="routed",direction="leave"} 0",
    ]
  `);
});

test("a lag from an interval is counted apart and is in no bucket", async () => {
  const { say, follow, lines } = world();
  follow("east", "shop/web");
  say(10_000, pod, "join", "1", { since: 2_000 });
  say(10_500, published, "join", "1");
  expect(await lines("lockstep_journey_lag", "lockstep_journey_interval")).toMatchInlineSnapshot(`
    [
      "lockstep_journey_interval_lags_total{cluster="east",hop="pod",direction="join"} 1",
      "lockstep_journey_interval_lags_total{cluster="east",hop="published",direction="join"} 1",
    ]
  `);
});

test("what is published is not counted as at once where no watch of pods tells", async () => {
  const { journeys, say, lines } = world();
  journeys.follow(published, { cluster: "east", service: "shop/web" });
  say(1_000, published, "join", "1");
  expect(await lines("lockstep_journey_lag", "lockstep_journey_interval")).toEqual([
    'lockstep_journey_interval_lags_total{cluster="east",hop="published",direction="join"} 1',
  ]);
});

test("requests to an address after it left are counted when the journey is over", async () => {
  const { metrics, lines } = world();
  metrics.onEvent({
    type: "over",
    journey: {
      id: 1,
      endpoint: {
        cluster: "east",
        service: "shop/web",
        address: "10.0.0.1",
        port: 80,
        podUid: "1",
      },
      podName: undefined,
      direction: "leave",
      cause: undefined,
      origin: { at: 0 as MonotonicMs, notBefore: undefined },
      hops: [],
      outcome: "complete",
      traffic: { requests: 7, failed: 3, lastFailedAt: undefined },
    },
  });
  expect(await lines("lockstep_journey_requests")).toEqual([
    'lockstep_journey_requests_after_leave_total{cluster="east",result="answered"} 4',
    'lockstep_journey_requests_after_leave_total{cluster="east",result="failed"} 3',
  ]);
});

test("how old the observer's knowledge is stands beside, the oldest of each resource", async () => {
  const { clusters, lines, goTo } = world();
  const fresh = (resource: string, ms: number | undefined) => ({
    resource,
    state: "fresh" as const,
    currentAtMs: ms as MonotonicMs | undefined,
  });
  const refused = { ...fresh("pods", undefined), state: "refused" as const };
  clusters.push({ cluster: "east", watches: [fresh("pods", 1_000), fresh("pods", 4_000)] });
  clusters.push({ cluster: "west", watches: [fresh("pods", undefined), fresh("pods", 4_500)] });
  clusters.push({ cluster: "hidden", watches: [refused, fresh("endpointslices", 5_000)] });
  clusters.push({ cluster: "silent", watches: [] });
  goTo(5_000);
  expect(await lines("lockstep_observer")).toMatchInlineSnapshot(`
    [
      "lockstep_observer_watch_age_seconds{cluster="hidden",watch="endpointslices"} 0",
      "lockstep_observer_watch_age_seconds{cluster="west",watch="pods"} +Inf",
      "lockstep_observer_watch_age_seconds{cluster="east",watch="pods"} 4",
      "lockstep_observer_watch_age_seconds{cluster="silent",watch="all"} +Inf",
    ]
  `);
});

test("with service labels the first services are named, and the rest are together", async () => {
  const { say, follow, lines } = world({ serviceLabelsMax: 2 });
  for (const [index, service] of ["shop/web", "shop/pay", "shop/log", "shop/mail"].entries()) {
    follow("east", service);
    say(index, pod, "join", String(index), { service });
  }
  expect(await lines("lockstep_journey_lag_seconds_count")).toMatchInlineSnapshot(`
    [
      "lockstep_journey_lag_seconds_count{cluster="east",service="shop/web",hop="pod",direction="join"} 1",
      "lockstep_journey_lag_seconds_count{cluster="east",service="shop/pay",hop="pod",direction="join"} 1",
      "lockstep_journey_lag_seconds_count{cluster="east",service="other",hop="pod",direction="join"} 2",
    ]
  `);
  expect(await lines("lockstep_journey_stuck_total")).toHaveLength(30);
});

test("the hundred and first cluster shares a label with those after it", async () => {
  const { say, follow, lines } = world();
  for (let n = 0; n < 103; n += 1) {
    const cluster = `c-${n}`;
    follow(cluster, "shop/web");
    say(n, pod, "join", String(n), { cluster });
  }
  const counts = await lines("lockstep_journey_lag_seconds_count");
  expect(counts).toHaveLength(101);
  expect(counts.at(-1)).toBe(
    'lockstep_journey_lag_seconds_count{cluster="other",hop="pod",direction="join"} 3',
  );
  expect(
    await lines('lockstep_journey_oldest_pending_seconds{cluster="other"'),
  ).toMatchInlineSnapshot(`
    [
      "lockstep_journey_oldest_pending_seconds{cluster="other",hop="pod",direction="join"} 0",
      "lockstep_journey_oldest_pending_seconds{cluster="other",hop="published",direction="join"} 0.002",
    ]
  `);
});

test("a change that no cluster reported has an unknown cluster, and so has its lag", async () => {
  const { journeys, lines } = world();
  const witness = { hop: "routed", name: "proxy-1" } as const;
  const endpoint = { service: "shop/web", address: "10.0.0.1", port: 80 };
  const from = { cluster: undefined, podUid: undefined };
  journeys.follow(witness, { ...endpoint, ...from });
  journeys.report({
    witness,
    direction: "join",
    at: 0 as MonotonicMs,
    endpoint: { ...endpoint, ...from },
  });
  expect(await lines("lockstep_journey_lag_seconds_count")).toEqual([]);
  expect(await lines("lockstep_journey_interval_lags_total")).toContain(
    'lockstep_journey_interval_lags_total{cluster="unknown",hop="routed",direction="join"} 1',
  );
});

test("two observers of one process share a registry, and count together", async () => {
  const first = world();
  const { registry, lines } = first;
  const second = world({ registry });
  for (const { say, follow } of [first, second]) {
    follow("east", "shop/web");
    say(0, pod, "join", "1");
  }
  expect(await lines("lockstep_journey_lag_seconds_count")).toEqual([
    'lockstep_journey_lag_seconds_count{cluster="east",hop="pod",direction="join"} 2',
  ]);
});
