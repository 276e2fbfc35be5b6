// The cost of the observer: processor time and memory for each change, service and endpoint, and
// the time from a change to its event. Beside it the parsing and storing that every watcher needs,
// over the same bytes in the same run; and the same for three sizes in turns, so that a cost that
// grows with the cluster would show.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  atMost,
  type Benchmark,
  type BenchmarkOptions,
  type Figures,
  median,
  type Progress,
  percentile,
  plain,
} from "./benchmark.ts";
import { measureCosts, timed } from "./journeys-costs.ts";
import { JourneysWorld } from "./journeys-world.ts";

const sizes = [1_000, 10_000, 100_000] as const;
const big = sizes[2];
const changesPerSecond = 1_000;

/** Bursts of this size a hundred times a second: watches deliver several events in one read. */
const burst = 10;
const pendingChanges = 50_000;
const advanceEveryMs = 1_000;
const settledAfterSeconds = 60;

export const journeysBenchmark: Benchmark = {
  description: "the observer: share of a core, memory and latency at 1k, 10k and 100k pods",
  hasQuickRun: true,
  async run(progress, options) {
    const worlds = new Map<number, JourneysWorld>();
    let figures: Figures = {};
    for (const pods of sizes) {
      progress(`a cluster of ${pods} pods`);
      const world = new JourneysWorld({ pods, onEvent: (event) => noteEvent(event.type) });
      const memory = fill(world);
      worlds.set(pods, world);
      if (pods === big) figures = { ...figures, ...memory };
    }
    const turns = options.quick ? { turns: 3, changes: 500 } : { turns: 15, changes: 2_000 };
    figures = { ...figures, ...measureCosts({ worlds, ...turns }, progress) };
    const world = worlds.get(big) ?? new JourneysWorld({ pods: big, onEvent: () => undefined });
    figures = { ...figures, ...(await measurePace(world, progress, options)) };
    return { ...figures, ...measurePending(world, progress, options) };
  },
};

/** When the last event came; the observer tells it in the same turn. */
let eventAt = 0;
let shown = 0;

function noteEvent(type: string): void {
  eventAt = performance.now();
  if (type === "shown") shown += 1;
}

function fill(world: JourneysWorld): Figures {
  world.fillServices();
  const perService = grownBytes(() => world.showServices()) / world.services;
  world.fillPodsAndSlices();
  const perEndpoint = grownBytes(() => {
    world.showEndpoints();
    // Until the witnesses are found to agree.
    for (let second = 0; second < settledAfterSeconds; second += 1) world.skip(1_000);
  });
  const note = "witnesses of three hops and journeys; without the reflectors' stores";
  return {
    bytesPerService: atMost(perService, 2_500, "bytes", note),
    bytesPerEndpoint: atMost(perEndpoint / world.endpoints, 2_000, "bytes", note),
  };
}

/** A thousand changes a second, as they would come, with everything that a process does for them. */
async function measurePace(
  world: JourneysWorld,
  progress: Progress,
  { quick }: BenchmarkOptions,
): Promise<Figures> {
  const seconds = quick ? 2 : 15;
  progress(`${changesPerSecond} changes a second for ${seconds} s`);
  const made = Array.from({ length: seconds * changesPerSecond }, () => world.makeChange());
  const latencies: number[] = [];
  shown = 0;
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  let advanceAt = startedAt + advanceEveryMs;
  for (let done = 0; done < made.length; done += burst) {
    await until(startedAt + (done * 1_000) / changesPerSecond);
    for (const change of made.slice(done, done + burst)) {
      const stored = world.store(change);
      const from = performance.now();
      world.observe(stored);
      latencies.push(eventAt - from);
    }
    if (performance.now() < advanceAt) continue;
    advanceAt += advanceEveryMs;
    world.journeys.advance(world.now());
    world.journeys.oldestPending(world.now());
  }
  const tookMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpu);
  const share = (100 * (user + system)) / 1_000 / tookMs;
  const note = "100k pods; parsing, stores, witnesses and journeys, in process and without sockets";
  return {
    coreShare: atMost(share, 25, "% of a core", note),
    changesPerSecond: plain((made.length * 1_000) / tookMs, "changes/s"),
    eventsPerChange: plain(shown / made.length, "hops shown", "three when none is lost"),
    latencyP99Ms: atMost(
      percentile(latencies, 0.99),
      1,
      "ms",
      "from the stored change to the last event about it, three hops",
    ),
  };
}

/** Many changes of which only the pod is seen: the memory of each, and the effect on others. */
function measurePending(
  world: JourneysWorld,
  progress: Progress,
  { quick }: BenchmarkOptions,
): Figures {
  const turns = quick ? 5 : 15;
  // The last fifth stays calm, and shows what a change costs there.
  const calmFrom = Math.floor(world.pods * 0.8);
  progress(`${pendingChanges} pending changes`);
  const before = costs(world, calmFrom, turns);
  // At this instant none of them is due, however long the machine takes for them all.
  const openedAfter = world.now();
  const keptBytes = grownBytes(() => {
    for (let index = 0; index < pendingChanges; index += 1) {
      world.observePod(world.store(world.makeTurn(0, calmFrom)));
    }
  });
  const pending = world.journeys.pending().length;
  const after = costs(world, calmFrom, turns);
  const advanceMs = timed(() => world.journeys.advance(openedAfter));
  const oldestMs = timed(() => void world.journeys.oldestPending(world.now()));
  return {
    bytesPerPending: atMost(keptBytes / pending, 1_500, "bytes", `${pending} pending changes`),
    pendingCostRatio: atMost(
      median(after) / median(before),
      2,
      "× none pending",
      "another change while so many are pending",
    ),
    advanceMs: atMost(advanceMs, 10, "ms", "a look at what is due, of which nothing is"),
    oldestPendingMs: atMost(oldestMs, 10, "ms", "the oldest change of every hop"),
  };
}

/** Milliseconds for some changes of pods from this one on, each time. */
function costs(world: JourneysWorld, from: number, turns: number): readonly number[] {
  return Array.from({ length: turns }, () => {
    const parsed = Array.from({ length: 500 }, () => world.store(world.makeTurn(from, world.pods)));
    return timed(() => {
      for (const one of parsed) world.observe(one);
    });
  });
}

function grownBytes(work: () => void): number {
  const before = heapBytes();
  work();
  return heapBytes() - before;
}

async function until(at: number): Promise<void> {
  const waitMs = at - performance.now();
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
}

/** After everything that can be let go of has been. */
function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") collect();
  return process.memoryUsage().heapUsed;
}
