// The incident `throttled-controller`: a controller manager of 1.7 looks at every service each 30 s
// and asks the API server about each, so its client's limit is used up for ever and a release waits
// in the queue behind all other services. Lockstep hears of the same pods from the pods themselves.

import { elapsedMs } from "../../environment/clock.ts";
import { randomBetween } from "../../environment/random.ts";
import type { Journey } from "../../journeys/journey.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import { type Cluster, startCluster } from "../cluster.ts";
import { Ledger } from "../kubelet/ledger.ts";
import {
  createCrowd,
  createShop,
  createShopIngress,
  publishedServices,
  releaseShop,
  shopHost,
  shopReplicas,
} from "../shop.ts";
import { tallyOf } from "../traffic/tally.ts";
import type { TrafficResult } from "../traffic/traffic-result.ts";
import { TrafficSource } from "../traffic/traffic-source.ts";
import type { Incident, IncidentOptions, IncidentResult } from "./incident.ts";
import { type IngressSide, startSide } from "./ingress-sides.ts";
import { longestLoggedWaitMs } from "./logged-wait.ts";
import { ShopObserver } from "./shop-observer.ts";
import { type Measures, throttledRows } from "./throttled-rows.ts";

export interface ThrottledControllerOptions extends IncidentOptions {
  /** Beside the shop; `fittedServices` unless given. */
  readonly services?: number;
  /** `--concurrent-endpoint-syncs`; `fittedWorkers` unless given. */
  readonly workers?: number;
}

/** The write-up does not say how many; above 600 the queue never empties. */
export const fittedServices = 1_200;

/** The write-up's log line shows a wait of workers ÷ qps, and fits these and not the default 5. */
export const fittedWorkers = 50;

/** No limit to speak of: how the cluster came to be what it is takes no part in the incident. */
const setUpFlags = { "kube-api-qps": 10_000, "kube-api-burst": 10_000 } as const;

const fixFlags = { "kube-api-qps": 300, "kube-api-burst": 325 } as const;

/** Up to 1.7 the waits for the limit are logged at this verbosity only. */
const verbosity = 4;

/** Each finds the shop's key at another place of the queue. */
const releases = 2;

/** Gentle, and enough that every pod is asked each second. */
const requestsPerSecond = 8;

/** Every service is enqueued this often, so that a release comes at any moment between. */
const enqueuePeriodMs = 30_000;

/** For routes and endpoints to reach every replica in quiet times: one sync of stock and a poll. */
const settleMs = 5_000;

const lookAgainMs = 1_000;

/** A small program's start, so that a release takes some seconds and not an instant. */
const readyAfter = "2s";

/** Far more than the deduplicated queue can make a change wait. */
const releaseWithinMs = 600_000;

export const throttledController: Incident = {
  name: "throttled-controller",
  summary: "after a release, requests go to pods that are gone, for up to two minutes",
  run: (options) => runThrottledController(options),
};

export function runThrottledController(
  options: ThrottledControllerOptions,
): Promise<IncidentResult> {
  const { seed, onProgress } = options;
  const progress = { step: "" };
  const simulation = {
    seed,
    ...(onProgress !== undefined && {
      onProgress: ({ nowMs }: { readonly nowMs: number }) =>
        onProgress({ ...progress, virtualMs: nowMs }),
    }),
  };
  return simulate(simulation, (world) => run(world, options, progress));
}

async function run(
  simulation: Simulation,
  options: ThrottledControllerOptions,
  progress: { step: string },
): Promise<IncidentResult> {
  const { seed, fix = false, services = fittedServices, workers = fittedWorkers } = options;
  progress.step = `creating ${services} services`;
  const world = await setUp(simulation, services);
  const flags = { v: verbosity, "concurrent-endpoint-syncs": workers, ...(fix ? fixFlags : {}) };
  progress.step = "starting the controllers as they were";
  await world.cluster.controlPlane.restart(flags);
  const measures = await measure(simulation, world, progress);
  await world.stop();
  return {
    name: throttledController.name,
    isFixed: fix,
    rows: throttledRows(measures, { isFixed: fix }),
    fitted: fittedIn(services, workers),
    seed,
    virtualMs: simulation.now(),
  };
}

interface World {
  readonly ledger: Ledger;
  readonly cluster: Cluster;
  /** Whoever releases. */
  readonly client: KubeClient;
  readonly observer: ShopObserver;
  readonly sides: Sides;
  stop(): Promise<void>;
}

/** A cluster where everything is published and routed, and nothing happens. */
async function setUp(simulation: Simulation, services: number): Promise<World> {
  const user = simulation.host("user");
  const ledger = new Ledger(user);
  const cluster = await startThrottledCluster(simulation, ledger);
  const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "user" });
  await createShop(client, { readyAfter });
  await createShopIngress(client);
  await createCrowd(client, services, "shared");
  while ((await publishedServices(client)) <= services) await simulation.sleep(lookAgainMs);
  const { name } = cluster;
  const observer = new ShopObserver({ ...simulation.host("observer"), client, cluster: name });
  await observer.start();
  const sides = await startSides(simulation, cluster, observer);
  await simulation.sleep(settleMs);
  const stop = async (): Promise<void> => {
    await Promise.all([sides.stock.stop(), sides.lockstep.stop()]);
    await observer.stop();
    await cluster.stop();
  };
  return { ledger, cluster, client, observer, sides, stop };
}

/** Releases under traffic, each at another moment of the controllers' rounds. */
async function measure(
  simulation: Simulation,
  { ledger, client, observer, sides }: World,
  progress: { step: string },
): Promise<Measures> {
  const { clock } = simulation.host("observer");
  const startedAt = clock.monotonicMs();
  const { results, finish } = startTraffic(simulation, sides);
  for (let release = 1; release <= releases; release += 1) {
    await simulation.sleep(randomBetween(simulation.random, 0, enqueuePeriodMs) + settleMs);
    progress.step = `release ${release} of ${releases}`;
    const releasedAt = clock.monotonicMs();
    await releaseShop(client, String(release));
    await untilRouted(simulation, () => observer.completeSince(releasedAt));
  }
  await finish();
  return {
    journeys: observer.completeSince(startedAt),
    stock: tally(results, sides.stock, ledger),
    lockstep: tally(results, sides.lockstep, ledger),
    loggedWaitMs: await longestLoggedWaitMs(client, elapsedMs(startedAt, clock.monotonicMs())),
  };
}

function startThrottledCluster(simulation: Simulation, ledger: Ledger): Promise<Cluster> {
  return startCluster({
    name: "blue",
    environmentOf: (part) => simulation.host(part),
    hostOf: (part) => part,
    ports: [6443],
    nodes: 2,
    profile: "1.7",
    flags: setUpFlags,
    podNetwork: "10.7",
    ledger,
  });
}

interface Sides {
  readonly stock: IngressSide;
  readonly lockstep: IngressSide;
}

async function startSides(
  simulation: Simulation,
  { access }: Cluster,
  observer: ShopObserver,
): Promise<Sides> {
  const options = {
    environmentOf: (machine: string) => simulation.host(machine),
    access,
    witnessOf: (replica: string) => observer.replica(replica),
  };
  const stock = await startSide("stock", options);
  return { stock, lockstep: await startSide("lockstep", options) };
}

function startTraffic(simulation: Simulation, { stock, lockstep }: Sides) {
  const results: TrafficResult[] = [];
  const source = new TrafficSource({
    ...simulation.host("clients"),
    entries: [stock, lockstep],
    requestsPerSecond,
    hosts: [shopHost],
    onResult: (result) => results.push(result),
  });
  source.start();
  return { results, finish: () => source.finish() };
}

/** Until every hop has shown every pod of the release: as many join as leave. */
async function untilRouted(
  simulation: Simulation,
  journeys: () => readonly Journey[],
): Promise<void> {
  const startedMs = simulation.now();
  while (journeys().length < 2 * shopReplicas) {
    if (simulation.now() - startedMs > releaseWithinMs) {
      throw new Error(`${journeys().length} of ${2 * shopReplicas} changes were routed in time`);
    }
    await simulation.sleep(lookAgainMs);
  }
}

function tally(results: readonly TrafficResult[], side: IngressSide, ledger: Ledger) {
  const own = results.filter(({ entry }) => entry === side.name);
  return tallyOf(own, {
    lives: ledger,
    upstreamsOf: (result) => side.upstreams.upstreamsOf(result),
  });
}

function fittedIn(services: number, workers: number): readonly string[] {
  return [
    `${services} services: the write-up gives no number`,
    `${workers} endpoint workers: the wait in the log is workers ÷ qps`,
    "dead pods refuse at once, where the write-up's connections timed out",
  ];
}
