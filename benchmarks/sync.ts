// `lockstep sync` between ten business clusters and an access cluster, over real sockets: the first full
// sync, and the lag of a change while nothing else is to be done, while every service is looked at again,
// and while every copy is written again. Then the approach of the write-up, in virtual time, with the
// same number of services and changes.
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import {
  atMost,
  type Benchmark,
  type Figures,
  type Progress,
  percentile,
  plain,
} from "./benchmark.ts";
import { Flips } from "./ingress-flips.ts";
import { ChangeMeter } from "./ingress-meter.ts";
import type { ClusterSize } from "./ingress-objects.ts";
import { type BenchRun, withBenchRun } from "./nginx-run.ts";
import { type SyncCounts, SyncWorld } from "./sync-world.ts";
import { type WriteUpPlan, writeUpFigures } from "./sync-write-up.ts";

interface Plan {
  readonly clusters: number;
  /** Of each cluster. */
  readonly size: ClusterSize;
  /** Of each series, over all clusters. */
  readonly changes: number;
  readonly writeUp: WriteUpPlan;
}

const changesPerSecond = 100;

const wholeRun: Plan = {
  clusters: 10,
  size: { services: 1_300, pods: 20_800 },
  changes: 4_000,
  writeUp: { services: 13_000, changesPerSecond, minutes: 10 },
};

const quickRun: Plan = {
  clusters: 3,
  size: { services: 200, pods: 1_600 },
  changes: 600,
  writeUp: { services: 600, changesPerSecond, minutes: 1 },
};

const goalRatio = 2;

/** Often enough that a resync is under way for most of the series. */
const restMs = 200;

const environment = nodeEnvironment({ log: { level: "warn" } });

interface Measured {
  readonly plan: Plan;
  readonly world: SyncWorld;
  readonly meter: ChangeMeter;
  /** One for each cluster. */
  readonly flips: readonly Flips[];
  readonly progress: Progress;
}

interface SeriesResult {
  readonly lagsMs: readonly number[];
  /** During it, until all of its changes were copied. */
  readonly counts: SyncCounts;
  /** Of `lockstep sync` in that time. */
  readonly cpuMs: number;
}

export const syncBenchmark: Benchmark = {
  description: "lag, writes and memory of lockstep sync, beside the write-up's approach",
  hasQuickRun: true,
  async run(progress, { quick }) {
    const plan = quick ? quickRun : wholeRun;
    const ours = await withBenchRun(environment, (run) => measure(plan, run, progress));
    progress("the approach of the write-up, in virtual time");
    return { ...ours, ...(await writeUpFigures(plan.writeUp)) };
  },
};

async function measure(plan: Plan, run: BenchRun, progress: Progress): Promise<Figures> {
  const { clusters, size } = plan;
  const meter = new ChangeMeter(["synced"]);
  const world = new SyncWorld({ ...run, environment, meter, size, clusters });
  try {
    progress(`${clusters} clusters with ${size.services} services and ${size.pods} pods each`);
    await world.start();
    const flips = world.sources.map(
      ({ size: own, client }) => new Flips({ ...environment, ...run, client, meter, size: own }),
    );
    const measured: Measured = { plan, world, meter, flips, progress };
    progress("the first full sync");
    const startedAt = performance.now();
    world.startSync();
    // Those that are not ready are not copied.
    const endpoints = (clusters * size.pods) / 2;
    await world.until("all endpoints are copied", () => world.copied === endpoints);
    const firstSeconds = (performance.now() - startedAt) / 1000;
    await series(measured, "warm-up", async () => undefined);
    const idle = await series(measured, "idle", async () => undefined);
    const resync = await series(measured, "resync", (over) => resyncUntil(world, over));
    const rewrite = await series(measured, "rewrite", () => world.causeRewrite(1));
    const { residentMb, peakMb } = world.cost;
    const { noopWrites } = await world.counts();
    const restart = await measureRestart(measured);
    const services = clusters * size.services;
    const pods = clusters * size.pods;
    const note = `${services} services, ${endpoints} endpoints of ${pods} pods in ${clusters} clusters`;
    return {
      firstFullSyncSeconds: plain(firstSeconds, "s", `${note}; from the start of the process`),
      ...lagFigures("idle", idle, "nothing else is to be done"),
      ...lagFigures("resync", resync, "every service is looked at again and again"),
      ...ratioFigures("resync", resync, idle),
      ...lagFigures("rewrite", rewrite, "every copy is written again: all pods changed zones"),
      ...ratioFigures("rewrite", rewrite, idle),
      writesPerChange: atMost(idle.counts.writes / plan.changes, 1, "writes", "nothing else"),
      resyncWritesPerChange: atMost(resync.counts.writes / plan.changes, 1, "writes", "resyncs"),
      noopWrites: atMost(noopWrites + restart.noopWrites, 0, "writes", "in the whole run"),
      restartSeconds: plain(restart.seconds, "s", "until changes missed while away are copied"),
      restartWritesPerChange: atMost(
        restart.writesPerChange,
        1,
        "writes",
        "nothing else is written",
      ),
      cpuMsPerChange: plain(
        idle.cpuMs / plan.changes,
        "ms",
        "of one core; nothing else is to be done",
      ),
      residentMb: plain(residentMb, "MB", `${note}; after all series`),
      peakMb: plain(peakMb, "MB", "the same process at its most"),
    };
  } finally {
    await world.stop();
  }
}

/** All clusters change at once, while `work` is done; it is given the end of the changes. */
async function series(
  { plan, world, meter, flips, progress }: Measured,
  name: string,
  work: (over: AbortSignal) => Promise<void>,
): Promise<SeriesResult> {
  progress(`${name}: ${plan.changes} changes at ${changesPerSecond} a second`);
  const before = await world.counts();
  const { cpuMs } = world.cost;
  const over = new AbortController();
  const working = work(over.signal);
  const perSecond = changesPerSecond / plan.clusters;
  const share = { changes: plan.changes / plan.clusters, perSecond };
  await Promise.all(flips.map((one) => one.run({ name, ...share })));
  over.abort();
  await working;
  await world.until("every change is copied", () => meter.outstanding === 0);
  const after = await world.counts();
  const usedMs = world.cost.cpuMs - cpuMs;
  await idleSyncer(world);
  const lags = (["join", "leave"] as const).map((one) => meter.lags(name, "synced", one));
  const unseen = lags.reduce((sum, one) => sum + one.unseen, 0);
  if (unseen > 0) throw new Error(`${unseen} changes were never copied`);
  return {
    lagsMs: lags.flatMap(({ lagsMs }) => lagsMs),
    counts: {
      writes: after.writes - before.writes,
      noopWrites: after.noopWrites - before.noopWrites,
    },
    cpuMs: usedMs,
  };
}

async function resyncUntil(world: SyncWorld, over: AbortSignal): Promise<void> {
  for (let zone = 1; !over.aborted; zone += 1) {
    await world.causeResync(zone);
    await environment.timers.sleep(restMs);
    await idleSyncer(world);
  }
}

/** The process ends as if its node had failed, one endpoint of each cluster changes, and it is back. */
async function measureRestart({ plan, world, meter, flips, progress }: Measured) {
  progress("restart");
  await world.killSync();
  const missed = { name: "restart", changes: 2, perSecond: changesPerSecond };
  await Promise.all(flips.map((one) => one.run(missed)));
  const startedAt = performance.now();
  world.startSync();
  await world.until("every change is copied", () => meter.outstanding === 0);
  const seconds = (performance.now() - startedAt) / 1000;
  await idleSyncer(world);
  const { writes, noopWrites } = await world.counts();
  return { seconds, noopWrites, writesPerChange: writes / (2 * plan.clusters) };
}

function lagFigures(name: string, { lagsMs }: SeriesResult, note: string): Figures {
  return {
    [`${name}P50Ms`]: plain(percentile(lagsMs, 0.5), "ms", note),
    [`${name}P99Ms`]: plain(percentile(lagsMs, 0.99), "ms", note),
  };
}

function ratioFigures(name: string, busy: SeriesResult, idle: SeriesResult): Figures {
  const ratio = (share: number): number =>
    percentile(busy.lagsMs, share) / percentile(idle.lagsMs, share);
  return {
    [`${name}P50Ratio`]: atMost(ratio(0.5), goalRatio, "× idle"),
    [`${name}P99Ratio`]: atMost(ratio(0.99), goalRatio, "× idle"),
  };
}

/** It has looked at every service, and has nothing more to write. */
async function idleSyncer(world: SyncWorld): Promise<void> {
  await world.until("no service waits", async () => (await world.pending()) === 0);
}
