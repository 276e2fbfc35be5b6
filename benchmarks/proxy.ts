// The cost of the proxy: an nginx with Lockstep's constant configuration and a large state beside a
// static nginx with one server, of the same program, with the same backend, log and kept
// connections, measured in turns in the same run.
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import type { HostRange } from "./bench-load.ts";
import type { Benchmark, Figure, Figures, Progress } from "./benchmark.ts";
import { withNginxRun } from "./nginx-run.ts";
import {
  handshakeFigures,
  memoryFigures,
  peersFigures,
  pushFigures,
  throughputFigures,
} from "./proxy-figures.ts";
import { LoadProcess } from "./proxy-load.ts";
import { measurePushes } from "./proxy-pushes.ts";
import { type Compared, type Round, round, roundsInTurns, type Side } from "./proxy-rounds.ts";
import { distinctHosts, largeHost, manyAddresses, ordinaryHosts } from "./proxy-scale.ts";
import { ProxyBenchWorld } from "./proxy-world.ts";

export interface ProxySizes {
  /** Rounds of either side, and how long one is. */
  readonly pairs: number;
  readonly roundMs: number;
  readonly changes: number;
}

const wholeRun: ProxySizes = { pairs: 10, roundMs: 2_000, changes: 1_000 };
const quickRun: ProxySizes = { pairs: 2, roundMs: 700, changes: 100 };

/** Requests under way at once: enough to keep every worker busy, few enough to wait little. */
const connections = 64;

/** A client's part of a handshake takes longer than a server's. */
const handshakesAtOnce = 16;

/** Until every worker has asked for most hosts once, and the compilers are warm. */
const warmUpMs = 3_000;

/** About as many changes a second as a cluster has when everything is being rolled out. */
const changeEveryMs = 10;

const environment = nodeEnvironment({ log: { level: "warn" } });

export const proxyBenchmark: Benchmark = {
  description: "throughput, pushes and memory of nginx with Lockstep, beside a static nginx",
  hasQuickRun: true,
  async run(progress, { quick }) {
    const sizes = quick ? quickRun : wholeRun;
    return await withNginxRun(environment, async ({ folder, signal }) => {
      const figures: Figures[] = [];
      for (const workers of [1, 2]) {
        const world = new ProxyBenchWorld({ environment, folder, workers, signal });
        try {
          progress(
            `${workers} worker(s): a backend, a static nginx, and Lockstep's with its state`,
          );
          await world.start();
          figures.push(await measure(world, { workers, sizes, progress, signal }));
        } finally {
          await world.stop();
        }
      }
      return withLowest(Object.assign({}, ...figures));
    });
  },
};

interface MeasureOptions {
  readonly workers: number;
  readonly sizes: ProxySizes;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

async function measure(world: ProxyBenchWorld, options: MeasureOptions): Promise<Figures> {
  const { workers, sizes, progress } = options;
  const lockstep = await sideOf(world, "lockstep", ordinaryHosts);
  const reference = await sideOf(world, "static", ordinaryHosts);
  try {
    progress("warm-up, then both in turns");
    await lockstep.load.run(warmUpMs);
    await reference.load.run(warmUpMs / 4);
    const compared = await roundsInTurns({ lockstep, reference }, sizes);
    const throughput = throughputFigures(compared, workers);
    if (workers === 1) return throughput;
    const memory = memoryFigures(world, lockstep.workerPids, reference.workerPids);
    progress(`${sizes.changes} pushes under load`);
    await lockstep.load.begin();
    const pushes = await measurePushes(world, { ...sizes, everyMs: changeEveryMs });
    const { requests, elapsedMs } = await lockstep.load.end();
    const handshakes = await measureHandshakes(world, sizes, progress);
    const peers = await measurePeers(world, sizes, progress);
    return {
      ...throughput,
      ...handshakeFigures(handshakes),
      ...pushFigures(pushes, requests / (elapsedMs / 1000)),
      ...memory,
      ...peersFigures({ ...peers, few: compared }),
    };
  } finally {
    await lockstep.load.stop();
    await reference.load.stop();
  }
}

/** Full handshakes, each for another name. */
async function measureHandshakes(
  world: ProxyBenchWorld,
  { pairs, roundMs }: ProxySizes,
  progress: Progress,
): Promise<readonly Compared[]> {
  progress("TLS handshakes, both in turns");
  const side = async (name: "lockstep" | "static"): Promise<Side> => {
    const port = world.ports[`${name}Tls`];
    const hosts = ordinaryHosts;
    const load = await LoadProcess.handshakes({ port, hosts, connections: handshakesAtOnce });
    return { load, workerPids: await world.workerPids(name) };
  };
  const lockstep = await side("lockstep");
  const reference = await side("static");
  try {
    await lockstep.load.run(warmUpMs);
    await reference.load.run(warmUpMs / 2);
    return await roundsInTurns({ lockstep, reference }, { pairs: Math.ceil(pairs / 2), roundMs });
  } finally {
    await lockstep.load.stop();
    await reference.load.stop();
  }
}

export interface PeersRounds {
  readonly large: Round;
  readonly distinct: Round;
  readonly reference: Round;
}

/** Requests that all go to other peers than the last: of one service, of many, of a static one. */
async function measurePeers(
  world: ProxyBenchWorld,
  { roundMs }: ProxySizes,
  progress: Progress,
): Promise<PeersRounds> {
  progress("thousands of peers");
  await world.startStatic(manyAddresses());
  const measured = async (name: "lockstep" | "static", hosts: HostRange) => {
    const side = await sideOf(world, name, hosts);
    try {
      await side.load.run(warmUpMs / 2);
      return await round(side, 2 * roundMs);
    } finally {
      await side.load.stop();
    }
  };
  return {
    large: await measured("lockstep", largeHost),
    distinct: await measured("lockstep", distinctHosts),
    reference: await measured("static", largeHost),
  };
}

async function sideOf(
  world: ProxyBenchWorld,
  name: "lockstep" | "static",
  hosts: HostRange,
): Promise<Side> {
  const port = world.ports[name];
  const load = await LoadProcess.start({ port, path: "/", hosts, connections });
  return { load, workerPids: await world.workerPids(name) };
}

/** The goals hold for both numbers of workers. */
function withLowest(figures: Figures): Figures {
  const one = figures["throughputRatio1Worker"];
  const two = figures["throughputRatio2Workers"];
  const lowest: Figure | undefined = one && two && (one.value < two.value ? one : two);
  return lowest === undefined ? figures : { throughputRatio: lowest, ...figures };
}
