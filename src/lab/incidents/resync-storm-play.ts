// How the incident `resync-storm` is played: the controllers start, hours pass until the first
// resync, which shows how long the period is, and again until shortly before the second one. Then
// there are replicas, traffic, a release in quiet times and one in the storm. At last the limits are
// raised, as the write-up did, with a server that keeps up and with one that does not.
import type { Journey } from "../../journeys/journey.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { endpointsKind } from "../../kube/kinds/endpoints.ts";
import { Reflector } from "../../kube/reflector/reflector.ts";
import { noChecks } from "../../kube/reflector/reflector-parts.ts";
import type { Cluster } from "../cluster.ts";
import type { ControllerFlags } from "../controllers/flags.ts";
import { shopService } from "../shop.ts";
import type { Tally } from "../traffic/tally.ts";
import type { SideName } from "./ingress-sides.ts";
import type { RaisedLimits, ResyncStormOptions, StormLimits } from "./resync-storm.ts";
import { StormMeter } from "./resync-storm-meter.ts";
import { crowdObjects } from "./resync-storm-objects.ts";
import { type Point, type QueueLook, QueueWatch } from "./resync-storm-queue.ts";
import { type Constraint, constraintOf, measureStorm, type Storm } from "./resync-storm-storm.ts";
import { Scene } from "./scene.ts";
import type { Stage } from "./stage.ts";

export interface StormsPlayOptions extends ResyncStormOptions {
  readonly fix: boolean;
  readonly note: (text: string) => void;
}

export interface JudgedStorm extends Storm {
  readonly constraint: Constraint;
}

/** What came out of the play. */
export interface Storms {
  readonly first: JudgedStorm;
  readonly second: JudgedStorm;
  /** Between the two; counted from what the queue shows when there were no requests. */
  readonly periodMs: number;
  /** Of the release before the second storm. */
  readonly quiet: readonly Journey[];
  /** Of the release in it. */
  readonly during: readonly Journey[];
  readonly tallies: Readonly<Record<SideName, Tally>>;
  readonly depths: readonly Point[];
  readonly rates: readonly Point[];
  /** With the raised limits; undefined where they were not tried. */
  readonly raised: RaisedStorms | undefined;
}

export interface RaisedStorms {
  /** The start of the process with the raised limits. */
  readonly restart: JudgedStorm;
  readonly unbounded: JudgedStorm;
  readonly bounded: JudgedStorm;
}

/** Throttling lines are logged from here on in 1.17. */
const verbosity = 4;

/** The controllers run once and the lock's renewals, two requests each 2 s, change nothing. */
const fixedFlags = { v: verbosity, "leader-elect": false } as const;

/** How often a queue is looked at in quiet times: a share of the shortest period, or each second. */
const lookShare = 1 / 360;
const lookLeastMs = 1_000;
const stormLookMs = 5_000;

/** The replicas come up, and a release passes in quiet, in this time before a storm. */
const leadMaxMs = 60_000;
const leadShare = 0.4;

/** The release begins when this share of the first storm's time has passed in the second. */
const releaseAtShare = 0.1;

/** In quiet times a release takes some seconds. */
const quietReleaseWithinMs = 60_000;

/** Everyone who waits for the server waits; nobody is sent away. */
const maxQueued = 1_000_000;

const shop = { readyAfter: "2s", probePeriodSeconds: 5, terminationGracePeriodSeconds: 5 };

export async function playStorms(stage: Stage, options: StormsPlayOptions): Promise<Storms> {
  const meter = new StormMeter(() => stage.now());
  const { services, fix, note } = options;
  note(`${services + 1} services; the controllers start`);
  let early: EarlyStorm | undefined;
  const scene = await Scene.open(stage, {
    cluster: {
      profile: fix ? "1.17.13" : "1.17.3",
      flags: flagsOf(options.limits, options.minResyncMs),
      resyncFactor: options.resyncFactor,
      objects: crowdObjects(options),
      observers: [meter.requests],
    },
    shop,
    furnish: async (_client, cluster) => {
      early = await untilSecondStorm(stage, cluster, meter, options);
    },
  });
  if (early === undefined) throw new Error("the scene was not furnished");
  try {
    return await new LateStorms(scene, meter, early, options).play();
  } finally {
    await early.listener.stop();
    await scene.stop();
  }
}

interface EarlyStorm {
  readonly storm: Storm;
  readonly queue: QueueWatch;
  readonly listener: { stop(): Promise<void> };
}

/** The start and the first storm, with nobody watching but the operator. */
async function untilSecondStorm(
  stage: Stage,
  cluster: Cluster,
  meter: StormMeter,
  options: StormsPlayOptions,
): Promise<EarlyStorm> {
  const { services, minResyncMs, note } = options;
  const client = operatorClient(stage, cluster);
  const queue = new QueueWatch({
    ...stage.environmentOf("operator"),
    metricsUrl: () => cluster.controlPlane.metricsUrl,
    meter,
    now: () => stage.now(),
    sleep: (ms) => stage.sleep(ms),
  });
  const lookMs = Math.max(minResyncMs * lookShare, lookLeastMs);
  const startedMs = stage.now();
  await queue.untilAdded({ ...(await queue.look()), adds: 0 }, services, stormLookMs);
  await queue.untilEmpty(stormLookMs);
  const listener = listenToEndpoints(stage, cluster, meter);
  await listener.waitForSync();
  note("everything is published; time passes");
  const before = await queue.untilAdded(await queue.look(), services, lookMs);
  note("the first resync");
  const after = await queue.untilEmpty(stormLookMs);
  const storm = await measureStorm({ client, stage }, meter, { before, after });
  note(`the queue is empty after ${storm.requests} PUTs; time passes`);
  // Without requests only the look before the resync is known: it was up to one look later.
  const periodMs = storm.atMs - startedMs;
  const leadMs = Math.min(leadMaxMs, periodMs * leadShare);
  await stage.sleep(Math.max(0, storm.atMs + periodMs - leadMs - stage.now()));
  return { storm, queue, listener };
}

/** The second storm, under traffic, and the raised limits. */
class LateStorms {
  readonly #scene: Scene;
  readonly #meter: StormMeter;
  readonly #early: EarlyStorm;
  readonly #options: StormsPlayOptions;
  #quietServerMs = 0;

  constructor(scene: Scene, meter: StormMeter, early: EarlyStorm, options: StormsPlayOptions) {
    this.#scene = scene;
    this.#meter = meter;
    this.#early = early;
    this.#options = options;
  }

  async play(): Promise<Storms> {
    const { queue } = this.#early;
    const { limits, raised, fix } = this.#options;
    queue.record();
    const traffic = this.#scene.startTraffic();
    const quiet = await this.#releaseInQuiet();
    const { storm, during } = await this.#secondStorm();
    const tallies = await traffic.finish();
    return {
      first: this.#judged(this.#early.storm, limits),
      second: this.#judged(storm, limits),
      periodMs: storm.atMs - this.#early.storm.atMs,
      quiet,
      during,
      tallies,
      depths: [...queue.depths],
      rates: [...queue.rates],
      raised: raised === undefined || fix ? undefined : await this.#raise(raised),
    };
  }

  async #releaseInQuiet(): Promise<readonly Journey[]> {
    const { note } = this.#options;
    const fromMs = this.#scene.stage.now();
    note("a release in quiet times");
    const journeys = await this.#scene.release("quiet", quietReleaseWithinMs);
    this.#quietServerMs = this.#meter.window(fromMs).meanServerMs;
    return journeys;
  }

  async #secondStorm(): Promise<{ storm: Storm; during: readonly Journey[] }> {
    const { stage } = this.#scene;
    const { queue, storm: first } = this.#early;
    const { services, note } = this.#options;
    const before = await queue.untilAdded(await queue.look(), services, lookLeastMs);
    note("the second resync");
    const drained = queue.untilEmpty(stormLookMs);
    await stage.sleep(first.drainMs * releaseAtShare);
    note("a release in the storm");
    // A change waits for a whole storm at the most; then it takes what it takes in quiet times.
    const withinMs = 2 * first.drainMs + quietReleaseWithinMs;
    const during = await this.#scene.release("storm", withinMs);
    note("the release has reached every replica");
    const after = await drained;
    const storm = await measureStorm(this.#scene, this.#meter, { before, after });
    note(`the queue is empty after ${storm.requests} PUTs`);
    return { storm, during };
  }

  async #raise(raised: RaisedLimits): Promise<RaisedStorms> {
    const { queue } = this.#early;
    const { note } = this.#options;
    const { cluster, stage } = this.#scene;
    note(`the controllers start with ${raised.workers} workers, ${raised.qps} requests a second`);
    const restartedMs = stage.now();
    await cluster.controlPlane.restart(flagsOf(raised, raised.minResyncMs));
    const restart = await this.#nextStorm(
      { ...(await queue.look()), atMs: restartedMs, adds: 0 },
      raised,
    );
    const unbounded = await this.#nextStorm(await queue.look(), raised);
    note(`the API server is bounded to ${raised.writesPerSecond} writes a second`);
    for (const { apiServer } of cluster.servers) {
      const requestsPerSecond = raised.writesPerSecond;
      apiServer.faults.setCapacity({ requestsPerSecond, maxQueued, of: "writes" });
    }
    const bounded = await this.#nextStorm(await queue.look(), raised);
    return { restart, unbounded, bounded };
  }

  async #nextStorm(since: QueueLook, limits: StormLimits): Promise<JudgedStorm> {
    const { queue } = this.#early;
    const before = await queue.untilAdded(since, this.#options.services, stormLookMs);
    const after = await queue.untilEmpty(stormLookMs);
    const storm = await measureStorm(this.#scene, this.#meter, { before, after });
    return this.#judged(storm, limits);
  }

  #judged(storm: Storm, { workers }: StormLimits): JudgedStorm {
    const quietServerMs = this.#quietServerMs;
    return { ...storm, constraint: constraintOf(storm, { workers, quietServerMs }) };
  }
}

function flagsOf(
  { workers, qps, burst }: StormLimits,
  minResyncMs: number,
): Partial<ControllerFlags> {
  return {
    ...fixedFlags,
    "concurrent-endpoint-syncs": workers,
    "kube-api-qps": qps,
    "kube-api-burst": burst,
    "min-resync-period": minResyncMs,
  };
}

function operatorClient(stage: Stage, { access }: Cluster): HttpKubeClient {
  const environment = stage.environmentOf("operator");
  return new HttpKubeClient({ ...environment, cluster: access, userAgent: "kubectl" });
}

/** Somebody who watches all Endpoints; the shop's own are no part of a storm. */
function listenToEndpoints(stage: Stage, cluster: Cluster, meter: StormMeter) {
  const reflector = new Reflector({
    ...stage.environmentOf("operator"),
    client: operatorClient(stage, cluster),
    cluster: cluster.name,
    kind: endpointsKind,
    checks: noChecks,
    indexes: {},
    handlers: [
      ({ type, object: { metadata } }) => {
        const isShop = `${metadata.namespace}/${metadata.name}` === shopService;
        if (type === "updated" && !isShop) meter.heard();
      },
    ],
  });
  reflector.start();
  return reflector;
}
