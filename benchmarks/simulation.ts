// The simulator: how much virtual time passes in a second with a small cluster in it, idle and
// busy, and what the engine alone costs beside the barest loop that could do its work.
import { atLeast, atMost, type Benchmark, type Figures, median, plain } from "./benchmark.ts";
import { bareLoopSeconds, engineSeconds, exchangeSeconds } from "./simulation-engine.ts";
import { PartsProfile } from "./simulation-profile.ts";
import { type RunFigures, runCluster } from "./simulation-runs.ts";
import { runStorm } from "./simulation-storm.ts";

const turns = 5;
const engineEvents = 300_000;
const exchanges = 20_000;

const idleVirtualMs = 4 * 3_600_000;
const busyVirtualMs = 10 * 60_000;
const clusterTurns = 3;

export const simulationBenchmark: Benchmark = {
  description:
    "virtual seconds per second of a simulated cluster, and the engine beside a bare loop",
  async run(progress) {
    const engine = await measureEngine(progress);
    const idle = await measureCluster("idle", idleVirtualMs, progress);
    const busy = await measureCluster("busy", busyVirtualMs, progress);
    progress("48 hours of the resync storm, two nodes");
    const storm = await runStorm(progress);
    return {
      ...engine,
      stormTwoNodesVirtualSecondsPerSecond: atLeast(
        storm.virtualSecondsPerSecond,
        2_880,
        "virtual s/s",
        "48 hours of resync-storm with 13,000 services and 2 nodes, start and two storms included",
      ),
      stormTwoNodesSeconds: plain(storm.seconds, "s"),
      stormMicrosecondsPerWrite: plain(
        storm.microsecondsPerWrite,
        "µs",
        "one PUT of a resync, through controller, client, network and API server",
      ),
      idleVirtualSecondsPerSecond: atLeast(
        idle.virtualSecondsPerSecond,
        3_600,
        "virtual s/s",
        "3 API servers, 10 nodes, 6 reflectors on 2,000 Endpoints",
      ),
      idleEventsPerSecond: plain(idle.events / idle.seconds, "events/s"),
      busyVirtualSecondsPerSecond: atLeast(
        busy.virtualSecondsPerSecond,
        60,
        "virtual s/s",
        "the same with 20 writes/s and faults",
      ),
      simulatedCreateMicroseconds: plain(
        busy.createMicroseconds,
        "µs",
        "one Endpoints through client, network and API server",
      ),
      busyEventsPerSecond: plain(busy.events / busy.seconds, "events/s"),
      busyMicrosecondsPerWrite: plain((busy.seconds * 1e6) / busy.writes, "µs", "with deliveries"),
      busyEventsPerWrite: plain(busy.events / busy.writes, "events"),
      ...(await measureShares(progress)),
    };
  },
};

async function measureEngine(progress: (step: string) => void): Promise<Figures> {
  const engine: number[] = [];
  const bare: number[] = [];
  const exchange: number[] = [];
  for (let turn = 0; turn <= turns; turn += 1) {
    progress(`engine ${turn} of ${turns}`);
    const ofEngine = await engineSeconds(engineEvents);
    const ofBare = await bareLoopSeconds(engineEvents);
    const ofExchange = await exchangeSeconds(exchanges);
    // The first turn only warms up.
    if (turn > 0) {
      engine.push(ofEngine);
      bare.push(ofBare);
      exchange.push(ofExchange);
    }
  }
  const ratios = engine.map((seconds, at) => seconds / (bare[at] ?? 0));
  const exchangeRatios = exchange.map(
    (seconds, at) => seconds / exchanges / ((bare[at] ?? 0) / engineEvents),
  );
  return {
    engineEventsPerSecond: plain(engineEvents / median(engine), "events/s", "timers only"),
    bareLoopEventsPerSecond: plain(engineEvents / median(bare), "events/s", "heap + setImmediate"),
    engineRatio: atMost(median(ratios), 3, "× bare loop", "cost of an event"),
    exchangeMicroseconds: plain((median(exchange) * 1e6) / exchanges, "µs", "one after the other"),
    exchangeRatio: atMost(
      median(exchangeRatios),
      20,
      "× bare loop",
      "an exchange beside a bare event",
    ),
  };
}

async function measureCluster(
  load: "idle" | "busy",
  virtualMs: number,
  progress: (step: string) => void,
): Promise<RunFigures> {
  const runs: RunFigures[] = [];
  for (let turn = 1; turn <= clusterTurns; turn += 1) {
    progress(`${load} cluster, turn ${turn} of ${clusterTurns}`);
    runs.push(await runCluster({ load, virtualMs }));
  }
  const middle = median(runs.map((run) => run.seconds));
  const found = runs.find((run) => run.seconds === middle);
  if (found === undefined) {
    throw new Error("no run was measured");
  }
  return found;
}

/** One more busy run, which the profiler slows a little, so it counts for nothing else. */
async function measureShares(progress: (step: string) => void): Promise<Figures> {
  progress("busy cluster, where the time goes");
  const profile = new PartsProfile();
  await runCluster({
    load: "busy",
    virtualMs: busyVirtualMs,
    onMeasure: (phase) => profile[phase](),
  });
  const shares = [...profile.shares()].sort(([, one], [, other]) => other - one);
  return Object.fromEntries(
    shares.map(([part, percent]) => [
      `busyShare${part.charAt(0).toUpperCase()}${part.slice(1)}`,
      plain(percent, "%", "of the samples of a profile"),
    ]),
  );
}
