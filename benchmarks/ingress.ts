// From a pod's change in the API to its route, at three rates: in a cluster whose endpoint
// controller is in time, with the stock model beside (both see the same changes at the same time),
// and in a large one whose endpoint controller is minutes behind. There the lag is measured, and
// the replica's processor time and memory.
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import type { Benchmark, Figures, Progress } from "./benchmark.ts";
import {
  columnFigures,
  goalFigures,
  publishedFigures,
  type ReplicaCost,
  type SeriesCost,
  scaleFigures,
} from "./ingress-figures.ts";
import { Flips, type Series } from "./ingress-flips.ts";
import { ChangeMeter, type MeteredHop } from "./ingress-meter.ts";
import type { ClusterSize } from "./ingress-objects.ts";
import { IngressWorld } from "./ingress-world.ts";
import { type BenchRun, withNginxRun } from "./nginx-run.ts";
import type { ReplicaProcess } from "./replica-process.ts";

interface Plan {
  readonly timely: ClusterSize;
  readonly late: ClusterSize;
  readonly series: readonly Series[];
  readonly idleMs: number;
}

/** The percentiles of the slow series are of few changes; more would take minutes. */
const wholeRun: Plan = {
  timely: { services: 200, pods: 4_000 },
  late: { services: 13_000, pods: 104_000 },
  series: [
    { name: "1", changes: 30, perSecond: 1 },
    { name: "100", changes: 2_000, perSecond: 100 },
    { name: "500", changes: 5_000, perSecond: 500 },
  ],
  idleMs: 10_000,
};

const quickRun: Plan = {
  timely: { services: 100, pods: 2_000 },
  late: { services: 1_300, pods: 10_400 },
  series: [
    { name: "1", changes: 4, perSecond: 1 },
    { name: "100", changes: 300, perSecond: 100 },
    { name: "500", changes: 1_000, perSecond: 500 },
  ],
  idleMs: 2_000,
};

/** Never reached, so that the control plane is not what is measured. */
const unlimitedQps = 10_000;

/**
 * Its limit is such that the slices of all services take it so long, more than the run; how far
 * behind it is at the end of the run is measured.
 */
const allSlicesSeconds = 650;

/** Compilers and connections get warm before anything counts. */
const warmUp: Series = { name: "warm-up", changes: 300, perSecond: 100 };

/** Stock routes by a change within 4.4 s: it syncs each 3.3 s, and its workers look each second. */
const settleLongestMs = 20_000;
const settlePollMs = 50;

const environment = nodeEnvironment({ log: { level: "warn" } });

export const ingressBenchmark: Benchmark = {
  description: "lag of pod changes from the API to routed, and what a replica costs",
  hasQuickRun: true,
  async run(progress, { quick }) {
    const plan = quick ? quickRun : wholeRun;
    return await withNginxRun(environment, async (run) => ({
      ...(await measureTimely(plan, run, progress)),
      ...(await measureLate(plan, run, progress)),
    }));
  },
};

/** With stock beside. */
async function measureTimely(plan: Plan, run: BenchRun, progress: Progress): Promise<Figures> {
  const hops: readonly MeteredHop[] = ["published", "lockstep", "stock"];
  const meter = new ChangeMeter(hops);
  const controllerQps = unlimitedQps;
  const world = new IngressWorld({
    ...run,
    environment,
    meter,
    controllerQps,
    size: plan.timely,
    withStock: true,
    witnessed: "pods and slices",
  });
  try {
    const { client, replica } = await world.start(progress);
    const flips = new Flips({ ...environment, ...run, client, meter, size: plan.timely });
    const costs = await measureSeries(plan, { flips, meter, replica, progress, ...run });
    return {
      ...goalFigures(meter, ""),
      ...columnFigures(meter, plan.series, {
        side: "lockstep",
        title: "Lockstep",
        after: "",
        costs,
      }),
      ...publishedFigures(meter, plan.series),
      ...columnFigures(meter, plan.series, { side: "stock", title: "stock (model)", after: "" }),
    };
  } finally {
    await world.stop();
  }
}

/** Nothing that is published is of any use, so there is nothing to compare with. */
async function measureLate(plan: Plan, run: BenchRun, progress: Progress): Promise<Figures> {
  const meter = new ChangeMeter(["lockstep"]);
  const controllerQps = plan.late.services / allSlicesSeconds;
  const world = new IngressWorld({
    ...run,
    environment,
    meter,
    controllerQps,
    size: plan.late,
    withStock: false,
    witnessed: "pods and slices",
  });
  try {
    const { client, replica, readyMs, published } = await world.start(progress);
    const flips = new Flips({ ...environment, ...run, client, meter, size: plan.late });
    const [before, startedAt] = [published(), performance.now()];
    progress("nothing changes");
    const idle = await costOf(replica, () => environment.timers.sleep(plan.idleMs, run.signal));
    const costs = await measureSeries(plan, { flips, meter, replica, progress, ...run });
    const backlog = {
      // Half of the pods are ready, at the beginning and at the end of each series.
      missing: plan.late.pods / 2 - published(),
      publishedPerSecond: (1_000 * (published() - before)) / (performance.now() - startedAt),
    };
    return {
      ...goalFigures(meter, "Behind"),
      ...columnFigures(meter, plan.series, {
        side: "lockstep",
        title: "Lockstep, late",
        after: "Behind",
        costs,
      }),
      ...scaleFigures({ size: plan.late, readyMs, idle, backlog }),
    };
  } finally {
    await world.stop();
  }
}

async function measureSeries(
  plan: Plan,
  measured: {
    readonly flips: Flips;
    readonly meter: ChangeMeter;
    readonly replica: ReplicaProcess;
    readonly progress: Progress;
    readonly signal: AbortSignal;
  },
): Promise<ReadonlyMap<string, SeriesCost>> {
  const { flips, meter, replica, progress, signal } = measured;
  progress("a warm-up");
  await flips.run(warmUp);
  await settled(meter, signal);
  const costs = new Map<string, SeriesCost>();
  for (const series of plan.series) {
    progress(`${series.changes} changes at ${series.perSecond} a second`);
    let reachedPerSecond = 0;
    const cost = await costOf(replica, async () => {
      reachedPerSecond = await flips.run(series);
    });
    costs.set(series.name, { ...cost, reachedPerSecond });
    await settled(meter, signal);
  }
  return costs;
}

async function costOf(replica: ReplicaProcess, work: () => Promise<void>): Promise<ReplicaCost> {
  const before = await replica.usage();
  const startedAt = performance.now();
  await work();
  const elapsedMs = performance.now() - startedAt;
  const after = await replica.usage();
  const cpuMs = (after.cpuMicroseconds - before.cpuMicroseconds) / 1000;
  return { processorShare: cpuMs / elapsedMs, residentMb: after.residentBytes / 1e6 };
}

/** Waits until every hop shows every endpoint as it was last written. */
async function settled(meter: ChangeMeter, signal: AbortSignal): Promise<void> {
  for (let waitedMs = 0; meter.outstanding > 0; waitedMs += settlePollMs) {
    if (waitedMs >= settleLongestMs) {
      throw new Error(`${meter.outstanding} endpoints are not routed as they should be`);
    }
    await environment.timers.sleep(settlePollMs, signal);
  }
}
