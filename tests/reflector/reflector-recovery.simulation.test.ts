// One thing goes wrong, for a minute or for ever, while the server can still be asked: for each kind
// of fault, how long a reflector may be blind. The bounds come from the reflector's own constants.

import type { FaultRule } from "../../src/apiserver/faults.ts";
import { freshnessWaitMs } from "../../src/apiserver/listwatch/resource-lister.ts";
import { randomBetween } from "../../src/environment/random.ts";
import { backoffBaseMs, backoffMaxMs } from "../../src/kube/reflector/backoff.ts";
import { behindAfterMs, lastChanceMs } from "../../src/kube/reflector/reflector-guard.ts";
import { quorumReadEveryMs } from "../../src/kube/reflector/reflector-prover.ts";
import {
  failuresBeforeRelist,
  versionTooLargeRetryMs,
} from "../../src/kube/reflector/reflector-state.ts";
import { watchHeadersDeadlineMs } from "../../src/kube/reflector/reflector-stream.ts";
import type { Fault } from "../../src/simulation/faults.ts";
import { forEachSeed } from "../../src/simulation/seeds.ts";
import { type Cluster, inCluster } from "./reflector-cluster.ts";
import { type Observed, observedPods } from "./reflector-observed.ts";
import { pick } from "./reflector-pick.ts";
import { blindForMs } from "./reflector-properties.ts";
import {
  down,
  laggingCache,
  longestRetryAfterSeconds,
  stalledWatches,
} from "./reflector-server-faults.ts";
import type { TestServer } from "./reflector-servers.ts";

/** Some requests and the half-dozen pages of a list, one after the other between continents. */
const healthyLagMs = 8_000;
/** A read shows what the watch does not, and the watch has had its time. */
const noticedMs = quorumReadEveryMs * 1.2 + behindAfterMs;
/** A server waits for its lagging cache in each request: a page, the next one, and then for all. */
const laggingListMs = 3 * freshnessWaitMs + versionTooLargeRetryMs;
/** A minute is less than a stall takes to be noticed, and more than a connection takes to die. */
const minuteMs = 60_000;
const runMs = 600_000;
const [client, api] = ["client", "api"] as const;

type Effect = Pick<Fault, "describe" | "begin" | "end">;

interface Row {
  readonly lastsMs: number;
  /** After the fault, until in step; of a fault that never ends, the longest blindness. */
  readonly boundMs: number;
  readonly effect: (server: TestServer) => Effect;
}

const table: readonly Row[] = [
  once(2 * backoffBaseMs, () => connectionsBreak),
  forAMinute(backoffMaxMs, () => oneWay(client, api)),
  forAMinute(backoffMaxMs, () => oneWay(api, client)),
  forAMinute(backoffMaxMs, () => isolation),
  forAMinute(backoffMaxMs, (server) => down(server, "stop")),
  forAMinute(backoffMaxMs, (server) => down(server, "crash")),
  forAMinute(backoffMaxMs, (server) => down(server, "vanish")),
  forAMinute(backoffMaxMs, (server) => answers(server, { errors: { rate: 1, code: 503 } })),
  forAMinute(backoffMaxMs, (server) => answers(server, { resets: { rate: 1 } })),
  forAMinute(longestRetryAfterSeconds * 1_000, (server) =>
    answers(server, { throttled: { rate: 1, retryAfterSeconds: longestRetryAfterSeconds } }),
  ),
  forAMinute(2 * backoffBaseMs, (server) => stalledWatches(server, undefined)),
  forAMinute(laggingListMs, (server) => laggingCache(server, Number.POSITIVE_INFINITY)),
  forAMinute(0, () => clockJump),
  forEver(noticedMs, () => openConnectionsStall),
  forEver(noticedMs + lastChanceMs, (server) => stalledWatches(server, undefined)),
  forEver(noticedMs + lastChanceMs + laggingListMs, (server) => laggingCache(server, 300_000)),
  forEver(noticedMs + lastChanceMs + laggingListMs, (server) =>
    laggingCache(server, Number.POSITIVE_INFINITY),
  ),
  forEver(failuresBeforeRelist * backoffMaxMs, (server) =>
    answers(server, { errors: { rate: 1, code: 500 } }, ["watch"]),
  ),
  forEver(failuresBeforeRelist * backoffMaxMs, (server) =>
    answers(server, { resets: { rate: 1 } }, ["watch"]),
  ),
  forEver(failuresBeforeRelist * (backoffMaxMs + watchHeadersDeadlineMs), (server) =>
    answers(server, { latency: runMs }, ["watch"]),
  ),
];

/** Every row with both ways to list, before and after the reflector starts. */
const variants = 4;
/** Every row once in `npm run check`; a thorough run has every variant of it. */
const seeds = table.length;

forEachSeed("a single fault blinds a reflector no longer than its bound", { seeds }, (seed) =>
  inCluster(
    seed,
    ({ random }) => ({
      serverNames: [api],
      clientNames: [client],
      expiredWatchAnswer: pick(random, ["event", "status"]),
      meanBetweenWritesMs: 1_000,
    }),
    async (cluster) => {
      const { simulation, servers } = cluster;
      const { random } = simulation;
      const row = table[seed % table.length] ?? once(0, () => connectionsBreak);
      const variant = Math.floor(seed / table.length) % variants;
      const observed = cluster.observe({
        name: client,
        host: client,
        kind: observedPods,
        pageSize: pick(random, [3, 500]),
        initialList: variant % 2 === 0 ? "watchlist" : "pages",
        servers,
      });
      await cluster.start();
      const startsAtMs = randomBetween(random, 0, minuteMs);
      simulation.at(startsAtMs, () => observed.reflector.start());
      const atMs = variant < 2 ? startsAtMs * random.next() : startsAtMs + minuteMs * random.next();
      for (const server of servers) {
        const untilMs = Math.min(atMs + row.lastsMs, runMs);
        const fault = { atMs, untilMs, ...row.effect(server) };
        cluster.apply({ faults: [fault], quietAfterMs: untilMs });
      }
      while (simulation.now() < runMs) {
        await simulation.sleep(randomBetween(random, 0, 2_000));
        cluster.check();
        checkSight(cluster, observed, { ...row, atMs, startsAtMs });
      }
    },
  ),
);

/** Blind no longer than the fault allows now, counted from the start of the reflector. */
function checkSight(
  cluster: Cluster,
  observed: Observed,
  row: Row & { readonly atMs: number; readonly startsAtMs: number },
): void {
  const nowMs = cluster.simulation.now();
  const blindMs = Math.min(blindForMs(observed, nowMs), nowMs - row.startsAtMs);
  const allowedMs = allowedBlindnessMs(row, nowMs - row.atMs);
  if (blindMs > allowedMs) {
    cluster.fail(observed, `blind for ${blindMs} ms, and ${allowedMs} ms is allowed`);
  }
}

function allowedBlindnessMs({ lastsMs, boundMs }: Row, sinceMs: number): number {
  const inStepAfterMs = lastsMs + boundMs + healthyLagMs;
  if (sinceMs < 0 || sinceMs >= inStepAfterMs) {
    return healthyLagMs;
  }
  const isForEver = inStepAfterMs === Number.POSITIVE_INFINITY;
  return isForEver ? boundMs + healthyLagMs : Number.POSITIVE_INFINITY;
}

function once(boundMs: number, effect: Row["effect"]): Row {
  return { lastsMs: 0, boundMs, effect };
}

function forAMinute(boundMs: number, effect: Row["effect"]): Row {
  return { lastsMs: minuteMs, boundMs, effect };
}

function forEver(boundMs: number, effect: Row["effect"]): Row {
  return { lastsMs: Number.POSITIVE_INFINITY, boundMs, effect };
}

const connectionsBreak: Effect = {
  describe: "all connections break",
  begin: ({ network }) => network.resetConnections(client, api),
  end: () => undefined,
};

const isolation: Effect = {
  describe: "the server is cut off",
  begin: ({ network }) => network.isolate(api),
  end: ({ network }) => network.rejoin(api),
};

const clockJump: Effect = {
  describe: "the clock jumps by a day and back",
  begin: (simulation) => simulation.setWallSkew(client, 24 * 3_600_000),
  end: (simulation) => simulation.setWallSkew(client, 0),
};

/** Connections that are made later are well. */
const openConnectionsStall: Effect = {
  describe: "open connections stall",
  begin: ({ network }) => network.stall(api, client),
  end: ({ network }) => network.unstall(api, client),
};

function oneWay(from: string, to: string): Effect {
  return {
    describe: `nothing passes from ${from} to ${to}`,
    begin: ({ network }) => network.partitionOneWay(from, to),
    end: ({ network }) => network.healOneWay(from, to),
  };
}

/** How requests are answered from now on; open watches break, so that they are made again. */
function answers(
  server: TestServer,
  how: Omit<FaultRule, "match">,
  verbs?: NonNullable<FaultRule["match"]["verbs"]>,
): Effect {
  let remove = (): void => undefined;
  return {
    describe: `${(verbs ?? ["every request"]).join()} is answered with ${JSON.stringify(how)}`,
    begin: () => {
      remove = server.addRule({ match: verbs === undefined ? {} : { verbs }, ...how });
      server.resetWatches();
    },
    end: () => remove(),
  };
}
