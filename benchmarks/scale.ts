// One replica with very many services and endpoints: the highest rate of changes that the lab sustains,
// and whether lag, memory and file descriptors stay as they are while it goes on; then starts, from
// nothing, with saved state, and after the controller was killed.
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { atMost, type Benchmark, type Figures, percentile, plain } from "./benchmark.ts";
import { Flips } from "./ingress-flips.ts";
import { ChangeMeter } from "./ingress-meter.ts";
import type { ClusterSize } from "./ingress-objects.ts";
import { type CpuUse, IngressWorld, type StartedIngress } from "./ingress-world.ts";
import { type BenchRun, withNginxRun } from "./nginx-run.ts";
import { openFiles, proportionalMegabytes } from "./process-cost.ts";

interface Plan {
  /** Half of the pods are ready, so they are endpoints. */
  readonly large: ClusterSize;
  /** For the start after a kill, which has a goal of its own. */
  readonly usual: ClusterSize;
  readonly minutes: number;
}

const wholeRun: Plan = {
  large: { services: 13_000, pods: 208_000 },
  usual: { services: 1_000, pods: 16_000 },
  minutes: 2,
};

const quickRun: Plan = {
  large: { services: 1_300, pods: 20_800 },
  usual: { services: 200, pods: 3_200 },
  minutes: 0.5,
};

const aimPerSecond = 1_000;

/** A writer that is not held up reaches nearly what it was asked for. */
const reachedShare = 0.95;

/** Of what was reached once, so that no backlog builds up for minutes. */
const sustainedShare = 0.8;

const findingSeconds = 8;
const sliceSeconds = 5;

/** Growth is the middle of the last third of a run beside the middle of the first. */
const thirds = 3;

/** The slices of all services take so long that the endpoint controller is not what is measured. */
const allSlicesSeconds = 650;

const kills = 3;
const settleLongestMs = 30_000;
const settlePollMs = 50;

const environment = nodeEnvironment({ log: { level: "warn" } });

export const scaleBenchmark: Benchmark = {
  description: "one replica with 13,000 services and 104,000 endpoints: rate, lag, memory, starts",
  hasQuickRun: true,
  takesMinutes: true,
  async run(progress, { quick, minutes }) {
    const plan = { ...(quick ? quickRun : wholeRun), ...(minutes !== undefined && { minutes }) };
    return await withNginxRun(environment, async (run) => ({
      ...(await inWorld(run, plan.large, async (world, meter, begin) => {
        const started = await begin();
        const flips = new Flips({
          ...environment,
          ...run,
          ...world,
          meter,
          client: started.client,
        });
        const changes = await measureChanges(plan, { flips, meter, started, progress });
        progress("a start with saved state");
        await settled(meter, run.signal);
        const { readyMs } = await started.killAndRestart("Lockstep and nginx");
        const { services, pods } = plan.large;
        const scale = `${services} services, ${pods / 2} endpoints; until nginx has all of it`;
        return {
          ...changes,
          startSeconds: plain(started.readyMs / 1000, "s", `from nothing, ${scale}`),
          restartSeconds: plain(readyMs / 1000, "s", `controller and nginx killed, ${scale}`),
        };
      })),
      ...(await inWorld(run, plan.usual, async (world, meter, begin) => {
        const started = await begin();
        const flips = new Flips({
          ...environment,
          ...run,
          ...world,
          meter,
          client: started.client,
        });
        return await measureKills(plan.usual, { flips, meter, started, progress }, run.signal);
      })),
    }));
  },
};

interface Measured {
  readonly flips: Flips;
  readonly meter: ChangeMeter;
  readonly started: StartedIngress;
  readonly progress: (step: string) => void;
}

async function inWorld(
  run: BenchRun,
  size: ClusterSize,
  measure: (
    world: { readonly size: ClusterSize },
    meter: ChangeMeter,
    begin: () => Promise<StartedIngress>,
  ) => Promise<Figures>,
): Promise<Figures> {
  const meter = new ChangeMeter(["lockstep"]);
  const controllerQps = Math.max(1, size.services / allSlicesSeconds);
  const world = new IngressWorld({
    ...run,
    folder: `${run.folder}/${size.services}`,
    environment,
    meter,
    controllerQps,
    size,
    withStock: false,
    witnessed: "pods",
  });
  try {
    const begin = () => world.start((step) => process.stderr.write(`  ${step}\n`));
    return await measure({ size }, meter, begin);
  } finally {
    await world.stop();
  }
}

interface Sample {
  readonly residentMb: number;
  readonly nginxMb: number;
  readonly files: number;
}

async function measureChanges(plan: Plan, measured: Measured): Promise<Figures> {
  const { flips, meter, started, progress } = measured;
  progress(`the highest rate, up to ${aimPerSecond} changes a second`);
  const finding = { name: "finding", changes: aimPerSecond * findingSeconds };
  const before = await usedBy(started);
  const reached = await flips.run({ ...finding, perSecond: aimPerSecond });
  const shares = sharesOf(before, await usedBy(started));
  const isReached = reached >= reachedShare * aimPerSecond;
  const perSecond = isReached ? aimPerSecond : Math.floor(reached * sustainedShare);
  progress(`${plan.minutes} minutes at ${perSecond} changes a second`);
  const samples: Sample[] = [];
  const names: string[] = [];
  const count = Math.max(thirds, Math.round((plan.minutes * 60) / sliceSeconds));
  let written = 0;
  for (let slice = 0; slice < count; slice += 1) {
    const name = `slice ${slice}`;
    names.push(name);
    const changes = 2 * Math.ceil((perSecond * sliceSeconds) / 2);
    written += (await flips.run({ name, changes, perSecond })) / count;
    samples.push(await sampleOf(started));
  }
  const lags = (some: readonly string[]) =>
    some.flatMap((name) =>
      (["join", "leave"] as const).flatMap((one) => meter.lags(name, "lockstep", one).lagsMs),
    );
  const all = lags(names);
  const last = lags(names.slice(-Math.floor(count / thirds)));
  const [most = ["", 0]] = Object.entries(shares).toSorted(([, one], [, other]) => other - one);
  const [limit, share] = most;
  const busiest = `busiest: ${limit} with ${share.toFixed(2)} cores; all are on one machine`;
  const from = "from accepted by the API server to the proxy's acknowledgement";
  return {
    reachedPerSecond: plain(reached, "1/s", `for ${findingSeconds} s; ${busiest}`),
    ...Object.fromEntries(
      Object.entries(shares).map(([name, value]) => [
        `${name}Cores`,
        plain(value, "cores", "at the highest rate"),
      ]),
    ),
    sustainedPerSecond: plain(written, "1/s", `for ${plan.minutes} minutes`),
    changes: plain(all.length, "", "that the percentiles are of"),
    lagP50Ms: plain(percentile(all, 0.5), "ms", from),
    lagP99Ms: plain(percentile(all, 0.99), "ms", from),
    lagP99LastMs: plain(percentile(last, 0.99), "ms", "the last third of the run"),
    ...growthFigures(samples),
  };
}

async function measureKills(
  size: ClusterSize,
  { flips, meter, started, progress }: Measured,
  signal: AbortSignal,
): Promise<Figures> {
  progress(`${kills} times kill -9 of the controller with ${size.services} services`);
  const readyMs: number[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    await flips.run({ name: "before", changes: 100, perSecond: 100 });
    await settled(meter, signal);
    readyMs.push((await started.killAndRestart("Lockstep")).readyMs);
    await flips.run({ name: "after", changes: 100, perSecond: 100 });
    await settled(meter, signal);
  }
  const note = `${size.services} services, from the start of the process; the longest of ${kills}`;
  return { followedAgainSeconds: atMost(Math.max(...readyMs) / 1000, 1, "s", note) };
}

function growthFigures(samples: readonly Sample[]): Figures {
  const third = Math.floor(samples.length / thirds);
  const grown = (of: (sample: Sample) => number) => {
    const first = percentile(samples.slice(0, third).map(of), 0.5);
    const end = percentile(samples.slice(-third).map(of), 0.5);
    return { end, growth: end - first, percent: (100 * (end - first)) / first };
  };
  const memory = grown(({ residentMb }) => residentMb);
  const nginx = grown(({ nginxMb }) => nginxMb);
  const files = grown(({ files: open }) => open);
  const mostPercent = 5;
  const third3 = "last third of the run beside the first";
  return {
    residentMb: plain(memory.end, "MB", "RSS of the controller"),
    residentGrowthPercent: atMost(memory.percent, mostPercent, "%", third3),
    nginxMb: plain(nginx.end, "MB", "PSS of nginx"),
    nginxGrowthPercent: atMost(nginx.percent, mostPercent, "%", third3),
    openFiles: plain(files.end, "", "file descriptors of the controller and nginx"),
    openFilesGrowth: atMost(files.growth, 0, "", third3),
  };
}

interface Used extends CpuUse {
  readonly writerMs: number;
  readonly atMs: number;
}

async function usedBy({ cpuUse }: StartedIngress): Promise<Used> {
  const { user, system } = process.cpuUsage();
  const writerMs = (user + system) / 1000;
  return { ...(await cpuUse()), writerMs, atMs: performance.now() };
}

function sharesOf(before: Used, after: Used): Readonly<Record<string, number>> {
  const ms = after.atMs - before.atMs;
  return {
    apiServer: (after.apiServerMs - before.apiServerMs) / ms,
    controller: (after.lockstepMs - before.lockstepMs) / ms,
    nginx: (after.nginxMs - before.nginxMs) / ms,
    writer: (after.writerMs - before.writerMs) / ms,
  };
}

async function sampleOf({ replica, nginxPids }: StartedIngress): Promise<Sample> {
  const pids = await nginxPids();
  const { residentBytes } = await replica.usage();
  const files = [replica.pid, ...pids].reduce((sum, pid) => sum + openFiles(pid), 0);
  const nginxMb = pids.reduce((sum, pid) => sum + proportionalMegabytes(pid), 0);
  return { residentMb: residentBytes / 1e6, nginxMb, files };
}

/** Waits until the replica routes every endpoint as it was last written. */
async function settled(meter: ChangeMeter, signal: AbortSignal): Promise<void> {
  for (let waitedMs = 0; meter.outstanding > 0; waitedMs += settlePollMs) {
    if (waitedMs >= settleLongestMs) {
      throw new Error(`${meter.outstanding} endpoints are not routed as they should be`);
    }
    await environment.timers.sleep(settlePollMs, signal);
  }
}
