import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import { Journeys } from "./journeys.ts";
import { LagHistograms } from "./lag-histograms.ts";
import type { Direction, Witness } from "./witness.ts";

const web = { cluster: "east", service: "shop/web" };
const pod: Witness = { hop: "pod", name: "east" };
const published: Witness = { hop: "published", name: "east" };

test("lags, ages and ends are measured without naming an address", async () => {
  let nowMs = 0;
  const registry = new Registry();
  const clock = {
    monotonicMs: () => nowMs as MonotonicMs,
    wallMs: () => nowMs as WallMs,
  };
  const lags = new LagHistograms({ registry, clock });
  const journeys = new Journeys({ onEvent: lags.onEvent });
  const stop = lags.measure(journeys);
  const say = (at: number, witness: Witness, direction: Direction, podUid: string) => {
    nowMs = at;
    const endpoint = { ...web, address: `10.0.0.${podUid}`, port: 8080, podUid };
    journeys.report({ witness, direction, at: at as MonotonicMs, endpoint });
  };
  for (const witness of [pod, published]) journeys.follow(witness, web);
  say(0, pod, "join", "1");
  say(31_200, published, "join", "1");
  say(40_000, pod, "leave", "1");
  say(41_000, pod, "join", "2");
  nowMs = 4_000_000;
  journeys.advance(clock.monotonicMs());
  const lines = (await registry.metrics())
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .filter((line) => !line.includes("_bucket") || line.endsWith(" 1"))
    .filter((line) => !line.includes('hop="pod"'));
  stop();
  expect(lines).toMatchInlineSnapshot(`
    [
      "lockstep_journey_oldest_pending_seconds{cluster="east",hop="published",direction="leave"} 3960",
      "lockstep_journey_oldest_pending_seconds{cluster="east",hop="published",direction="join"} 3959",
      "lockstep_journey_reports_total{result="opened"} 3",
      "lockstep_journey_reports_total{result="matched"} 1",
      "lockstep_journey_reports_total{result="withdrawn"} 0",
      "lockstep_journey_reports_total{result="baseline"} 0",
      "lockstep_journey_reports_total{result="earlier"} 0",
      "lockstep_journey_reports_total{result="repeated"} 0",
      "lockstep_journey_reports_total{result="unknown"} 0",
      "lockstep_journey_reports_total{result="dropped"} 0",
      "lockstep_journey_lag_seconds_bucket{le="60",cluster="east",hop="published",direction="join"} 1",
      "lockstep_journey_lag_seconds_bucket{le="120",cluster="east",hop="published",direction="join"} 1",
      "lockstep_journey_lag_seconds_bucket{le="300",cluster="east",hop="published",direction="join"} 1",
      "lockstep_journey_lag_seconds_bucket{le="600",cluster="east",hop="published",direction="join"} 1",
      "lockstep_journey_lag_seconds_bucket{le="1200",cluster="east",hop="published",direction="join"} 1",
      "lockstep_journey_lag_seconds_bucket{le="1800",cluster="east",hop="published",direction="join"} 1",
      "lockstep_journey_lag_seconds_bucket{le="3600",cluster="east",hop="published",direction="join"} 1",
      "lockstep_journey_lag_seconds_bucket{le="7200",cluster="east",hop="published",direction="join"} 1",
      "lockstep_journey_lag_seconds_bucket{le="+Inf",cluster="east",hop="published",direction="join"} 1",
      "lockstep_journey_lag_seconds_sum{cluster="east",hop="published",direction="join"} 31.2",
      "lockstep_journey_lag_seconds_count{cluster="east",hop="published",direction="join"} 1",
      "lockstep_journey_stuck_total{cluster="east",hop="published",direction="leave"} 1",
      "lockstep_journey_stuck_total{cluster="east",hop="published",direction="join"} 1",
      "lockstep_journeys_total{cluster="east",direction="join",outcome="complete"} 1",
    ]
  `);
  expect(await registry.getSingleMetricAsString("lockstep_journey_reports_total")).not.toMatch(
    /result=/,
  );
});

test("two observers of one process share a registry", () => {
  const registry = new Registry();
  const clock = { monotonicMs: () => 0 as MonotonicMs, wallMs: () => 0 as WallMs };
  const make = () => new LagHistograms({ registry, clock });
  make();
  expect(make).not.toThrow();
});
