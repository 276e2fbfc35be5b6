import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { TruthEndpoint } from "../decide/truth/judged.ts";
import type { WallMs } from "../environment/clock.ts";
import { simulate } from "../simulation/simulation.ts";
import { DecisionLog, type Override } from "./decision-log.ts";
import { ShadowReport, type ShadowSummary } from "./shadow-report.ts";

const wall = 0 as WallMs;

function override(state: TruthEndpoint["state"], port: number, lastedMs?: number): Override {
  const endpoint: TruthEndpoint = {
    address: "pods",
    port,
    cluster: "c",
    state,
    reason: "",
    rule: "",
    pod: "unknown",
    published: state === "active" ? "absent" : "ready",
  };
  return { service: "d/web:80", endpoint, sinceWallMs: wall, lastedMs };
}

/** Runs with pods that listen on ports 1 and 3 and nowhere else. */
async function shadowed(
  probe: boolean,
  run: (shadow: ShadowReport, sleep: (ms: number) => Promise<void>) => Promise<void>,
): Promise<ShadowSummary> {
  return await simulate({ seed: 1 }, async (simulation) => {
    const pods = simulation.host("pods");
    for (const port of [1, 3]) {
      await pods.network.listen({ host: "pods", port }, (exchange) => exchange.respond(200).end());
    }
    const environment = simulation.host("edge");
    const shadow = new ShadowReport({ ...environment, probe, metrics: new Registry() });
    await run(shadow, (ms) => environment.timers.sleep(ms));
    const summary = { ...shadow.summary(), forMs: 0 };
    await shadow.stop();
    await shadow.stop();
    return summary;
  });
}

test("counts what slices listed too long or not yet, and names the longest", async () => {
  const summary = await shadowed(false, async (shadow) => {
    for (const one of [override("out", 1, 500), override("draining", 2, 90_000)]) {
      shadow.begins(one);
      shadow.ends(one);
    }
    shadow.begins(override("out", 3));
    shadow.begins(override("active", 4, 2_000));
    shadow.ends(override("active", 4, 2_000));
  });
  expect(summary).toEqual({
    forMs: 0,
    left: { pods: 3, standing: 1, late: 1, longestMs: 90_000, totalMs: 90_500 },
    joined: { pods: 1, standing: 0, late: 1, longestMs: 2_000, totalMs: 2_000 },
    probes: undefined,
    longest: [override("draining", 2, 90_000), override("active", 4, 2_000)],
  });
});

test("counts a pod once, though it drains and then dies, on two ports", async () => {
  const of = (state: TruthEndpoint["state"], port: number, lastedMs?: number): Override => {
    const one = override(state, port, lastedMs);
    return { ...one, endpoint: { ...one.endpoint, podUid: "uid-1" } };
  };
  const { left } = await shadowed(false, async (shadow, sleep) => {
    for (const port of [1, 2]) shadow.begins(of("draining", port));
    await sleep(400);
    for (const port of [1, 2]) shadow.ends(of("draining", port, 400));
    for (const port of [1, 2]) shadow.begins(of("out", port));
    await sleep(11_600);
  });
  expect(left).toEqual({ pods: 1, standing: 1, late: 1, longestMs: 12_000, totalMs: 12_000 });
});

test("what still stands counts for as long as it has, and may be the worst", async () => {
  const summary = await shadowed(false, async (shadow, sleep) => {
    shadow.begins(override("out", 1, 2_000));
    shadow.ends(override("out", 1, 2_000));
    shadow.begins(override("out", 2));
    await sleep(17_000);
    shadow.begins(override("out", 3));
    await sleep(300);
  });
  expect(summary).toEqual({
    forMs: 0,
    left: { pods: 3, standing: 2, late: 2, longestMs: 17_300, totalMs: 19_600 },
    joined: { pods: 0, standing: 0, late: 0, longestMs: 0, totalMs: 0 },
    probes: undefined,
    longest: [override("out", 2, 17_300), override("out", 1, 2_000)],
  });
});

test("asks the endpoints themselves once the slices are behind for a while", async () => {
  const summary = await shadowed(true, async (shadow, sleep) => {
    shadow.begins(override("out", 1));
    shadow.begins(override("out", 2));
    shadow.begins(override("active", 3));
    shadow.begins(override("active", 4));
    shadow.begins(override("out", 5));
    await sleep(500);
    shadow.ends(override("out", 5, 500));
    await sleep(5_000);
  });
  expect(summary.probes).toEqual({
    leftSilent: 1,
    leftAnswered: 1,
    joinedAnswered: 1,
    joinedSilent: 1,
    notAsked: 0,
  });
});

test("asks only so many at once, and says how many it did not ask", async () => {
  const summary = await shadowed(true, async (shadow, sleep) => {
    for (let port = 100; port < 125; port += 1) shadow.begins(override("out", port));
    await sleep(5_000);
  });
  expect(summary.probes).toMatchObject({ leftSilent: 10, notAsked: 15 });
});

test("receives each override of the decision log, when it begins and when it ends", async () => {
  const overrides = await simulate({ seed: 1 }, async (simulation) => {
    const { clock, log, timers } = simulation.host("edge");
    const events: string[] = [];
    const decisions = new DecisionLog({
      clock,
      log,
      onBegin: ({ endpoint }) => events.push(`begins ${endpoint.state}`),
      onEnd: ({ endpoint, lastedMs }) => events.push(`ends ${endpoint.state} ${lastedMs}`),
    });
    const truth = (endpoints: readonly TruthEndpoint[]) => ({
      service: "d/web:80",
      version: 1,
      before: undefined,
      after: { endpoints, problems: [], probeRequests: [] },
    });
    decisions.note(truth([override("out", 1).endpoint]));
    await timers.sleep(40);
    decisions.note(truth([]));
    return events;
  });
  expect(overrides).toEqual(["begins out", "ends out 40"]);
});
