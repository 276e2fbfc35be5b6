// One run of the simulated cluster, idle or busy, and what it took. A busy run ends with a check
// that every replica has learnt everything, so that a run which lost its way is no good figure.
import { applyFaultPlan, randomFaultPlan } from "../src/simulation/faults.ts";
import { type Simulation, simulate } from "../src/simulation/simulation.ts";
import { type SimulatedCluster, startCluster } from "./simulation-cluster.ts";
import { EndpointsWriter, renewLease } from "./simulation-work.ts";

export interface RunFigures {
  readonly virtualSecondsPerSecond: number;
  readonly events: number;
  readonly exchanges: number;
  readonly writes: number;
  readonly seconds: number;
  /** One create at an API server before the run, the client's part and the network's included. */
  readonly createMicroseconds: number;
}

export interface RunOptions {
  readonly load: "idle" | "busy";
  readonly virtualMs: number;
  /** Called when the cluster stands and the measured time begins, and when it is over. */
  readonly onMeasure?: (phase: "begin" | "end") => void;
}

const endpointsCount = 2_000;
const nodesCount = 10;

/** Half of them are between machines that talk to each other: one that matters each minute. */
const meanBetweenFaultsMs = 30_000;

/** After the last fault a reflector may wait for its backoff and for a quorum read. */
const recoveryMs = 120_000;

/** Taken before a run forbids it: the measurement goes on in real time. */
const realNow = performance.now.bind(performance);

export function runCluster(options: RunOptions): Promise<RunFigures> {
  return simulate({ seed: 1 }, async (simulation) => {
    const cluster = await startCluster(simulation);
    const services = Array.from({ length: endpointsCount }, (_, index) => `service-${index + 1}`);
    const controller = simulation.host("controller");
    const client = cluster.clientOf(controller, 0);
    const ending = new AbortController();
    const { signal } = ending;
    const writer = new EndpointsWriter({ host: controller, client, services, signal });
    const createMicroseconds = await timeOfCreate(writer);
    for (const reflector of cluster.reflectors) {
      reflector.start();
      await reflector.waitForSync();
    }
    const work = startNodes(simulation, cluster, signal);
    if (options.load === "busy") {
      work.push(writer.run());
      breakNowAndThen(simulation, cluster, options.virtualMs);
    }
    const figures = await measure(simulation, options, writer);
    ending.abort();
    await Promise.all(work);
    await simulation.sleep(recoveryMs);
    checkStores(cluster);
    await cluster.stop();
    return { ...figures, createMicroseconds };
  });
}

async function timeOfCreate(writer: EndpointsWriter): Promise<number> {
  const startedAt = realNow();
  await writer.createAll();
  return ((realNow() - startedAt) * 1000) / endpointsCount;
}

async function measure(
  simulation: Simulation,
  { virtualMs, onMeasure }: RunOptions,
  writer: EndpointsWriter,
): Promise<Omit<RunFigures, "createMicroseconds">> {
  const { network } = simulation;
  const eventsBefore = simulation.events;
  const exchangesBefore = network.exchanges;
  onMeasure?.("begin");
  const startedAt = realNow();
  await simulation.sleep(virtualMs);
  const seconds = (realNow() - startedAt) / 1000;
  onMeasure?.("end");
  return {
    virtualSecondsPerSecond: virtualMs / 1000 / seconds,
    events: simulation.events - eventsBefore,
    exchanges: network.exchanges - exchangesBefore,
    writes: writer.writes,
    seconds,
  };
}

function startNodes(
  simulation: Simulation,
  cluster: SimulatedCluster,
  signal: AbortSignal,
): Promise<void>[] {
  return Array.from({ length: nodesCount }, (_, index) => {
    const name = `node-${index + 1}`;
    const host = simulation.host(name);
    return renewLease(host, cluster.clientOf(host, index), name, signal);
  });
}

function breakNowAndThen(
  simulation: Simulation,
  { servers, replicas }: SimulatedCluster,
  virtualMs: number,
): void {
  const plan = randomFaultPlan(simulation.random, {
    hosts: [...servers, ...replicas],
    quietAfterMs: virtualMs,
    meanBetweenMs: meanBetweenFaultsMs,
    kinds: ["latency", "reset", "partition", "stall"],
  });
  applyFaultPlan(simulation, plan);
}

/** All hold the same versions of the same objects. */
function checkStores({ reflectors }: SimulatedCluster): void {
  const contents = reflectors.map(({ store }) =>
    [...store].map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).sort(),
  );
  const [first = []] = contents;
  const same = contents.every((one) => one.join() === first.join());
  if (first.length !== endpointsCount || !same) {
    throw new Error("the replicas did not learn everything");
  }
}
