// How the incident `resync-storm` is played: the controllers start, hours pass until the first
// resync, which shows how long the period is, and again until shortly before the second one. Then
// there are replicas, traffic, a release in quiet times and one in the storm. At last the limits are
// raised, as the write-up did, with a server that keeps up and with one that does not.

import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { endpointsKind } from "../../../kube/kinds/endpoints.ts";
import { Reflector } from "../../../kube/reflector/reflector.ts";
import { noChecks } from "../../../kube/reflector/reflector-parts.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { Cluster } from "../../cluster.ts";
import type { SideName } from "../../comparison/side.ts";
import { shopService } from "../../shop.ts";
import type { Tally } from "../../traffic/tally.ts";
import type { TrafficResult } from "../../traffic/traffic-result.ts";
import type { Incident, IncidentFindings, TimelineEntry } from "../incident.ts";
import { Scene } from "../scene.ts";
import type { OpenStage, Stage } from "../stage.ts";
import type { SameInstant } from "../usual-findings.ts";
import { findingsOf } from "./figures.ts";
import { type Point, type QueueLook, QueueWatch } from "./resync-storm-queue.ts";
import {
  crowdObjects,
  flagsOf,
  liveCluster,
  type RaisedLimits,
  type ResyncStormOptions,
  type StormLimits,
  writeUpCluster,
} from "./settings.ts";
import { type Constraint, constraintOf, measureStorm, type Storm, StormMeter } from "./storm.ts";

export interface StormsPlayOptions extends FirstStormOptions {
  readonly fix: boolean;
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
  /** Of the releases in it. */
  readonly during: readonly Journey[];
  /** Of these the release whose key had been written and came behind all that were left. */
  readonly behindAll: readonly Journey[];
  readonly tallies: Readonly<Record<SideName, Tally>>;
  readonly results: readonly TrafficResult[];
  /** On the clocks that journeys and results are on, and on the stage's. */
  readonly instant: SameInstant;
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

/** The first release begins when this share of the first storm's time has passed in the second. */
const releaseAtShare = 0.1;

/** In quiet times a release takes some seconds. */
const quietReleaseWithinMs = 60_000;

/** Everyone who waits for the server waits; nobody is sent away. */
const maxQueued = 1_000_000;

/** Ready after two seconds, and then looked at no oftener than hours of waiting can bear. */
const shop = {
  probe: { initialDelaySeconds: 2, periodSeconds: 60 },
  terminationGracePeriodSeconds: 5,
};

export async function playStorms(stage: Stage, options: StormsPlayOptions): Promise<Storms> {
  const meter = new StormMeter(() => stage.now());
  const { services, resyncFactor, fix, note } = options;
  note(`${(services + 1).toLocaleString("en-US")} services; the controllers start`);
  let early: FirstStorm | undefined;
  const scene = await Scene.open(stage, {
    cluster: {
      profile: fix ? "1.17.13" : "1.17.3",
      flags: flagsOf(options.limits, options.minResyncMs),
      ...(resyncFactor === undefined ? {} : { resyncFactor }),
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

/** The second storm, under traffic, and the raised limits. */
class LateStorms {
  readonly #scene: Scene;
  readonly #meter: StormMeter;
  readonly #early: FirstStorm;
  readonly #options: StormsPlayOptions;
  #quietServerMs = 0;

  constructor(scene: Scene, meter: StormMeter, early: FirstStorm, options: StormsPlayOptions) {
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
    const { storm, byLuck, behindAll } = await this.#secondStorm();
    const tallies = await traffic.finish();
    return {
      first: this.#judged(this.#early.storm, limits),
      second: this.#judged(storm, limits),
      periodMs: storm.atMs - this.#early.storm.atMs,
      quiet,
      during: [...byLuck, ...behindAll],
      behindAll,
      tallies,
      results: traffic.results,
      instant: { observer: this.#scene.now(), stageMs: this.#scene.stage.now() },
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

  async #secondStorm(): Promise<{
    storm: Storm;
    byLuck: readonly Journey[];
    behindAll: readonly Journey[];
  }> {
    const { stage } = this.#scene;
    const { queue, storm: first } = this.#early;
    const { services, note } = this.#options;
    const before = await queue.untilAdded(await queue.look(), services, lookLeastMs);
    note("the second resync");
    const drained = queue.untilEmpty(stormLookMs);
    await stage.sleep(first.drainMs * releaseAtShare);
    // The first finds its key still in the queue or not, by luck; the second surely behind all keys.
    const byLuck = await this.#releaseInStorm("first");
    const behindAll = first.requests === 0 ? [] : await this.#releaseInStorm("second");
    const after = await drained;
    const storm = await measureStorm(this.#scene, this.#meter, { before, after });
    note(`the queue is empty after ${storm.requests.toLocaleString("en-US")} PUTs`);
    return { storm, byLuck, behindAll };
  }

  /** A change waits for a whole storm at the most; then it takes what it takes in quiet times. */
  async #releaseInStorm(which: string): Promise<readonly Journey[]> {
    const { note, fix } = this.#options;
    note(`the ${which} release ${fix ? "after it" : "in the storm"}`);
    const withinMs = 2 * this.#early.storm.drainMs + quietReleaseWithinMs;
    const journeys = await this.#scene.release(which, withinMs);
    note(`the ${which} release has reached every replica`);
    return journeys;
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

export interface FirstStormOptions extends ResyncStormOptions {
  readonly note: (text: string) => void;
}

export interface FirstStorm {
  readonly storm: Storm;
  readonly queue: QueueWatch;
  readonly listener: { stop(): Promise<void> };
}

/** How often a queue is looked at in quiet times: a share of the shortest period, or each second. */
const lookShare = 1 / 360;
export const lookLeastMs = 1_000;
export const stormLookMs = 5_000;

/** The replicas come up, and a release passes in quiet, in this time before a storm. */
const leadMaxMs = 60_000;
const leadShare = 0.4;

/** The start and the first storm, with nobody watching but the operator. */
export async function untilSecondStorm(
  stage: Stage,
  cluster: Cluster,
  meter: StormMeter,
  options: FirstStormOptions,
): Promise<FirstStorm> {
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
  note(`the queue is empty after ${storm.requests.toLocaleString("en-US")} PUTs; time passes`);
  // Without requests only the look before the resync is known: it was up to one look later.
  const periodMs = storm.atMs - startedMs;
  const leadMs = Math.min(leadMaxMs, periodMs * leadShare);
  await stage.sleep(Math.max(0, storm.atMs + periodMs - leadMs - stage.now()));
  return { storm, queue, listener };
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

export const resyncStorm: Incident = {
  name: "resync-storm",
  summary: "some releases are followed by requests to deleted pods for minutes",
  cause:
    "at each resync, every 12 to 24 hours, Kubernetes 1.17.3 writes the Endpoints of every headless " +
    "service without need, at 20 a second, and real changes wait behind these writes",
  fix: "Kubernetes 1.17.13, which compares the labels of headless services correctly (PR 94112)",
  play: (open, { fix }) => playResyncStorm(open, { fix, cluster: clusterFor }),
};

interface PlayOptions {
  readonly fix: boolean;
  /** The cluster to play on this stage. */
  readonly cluster: (stage: Stage) => ResyncStormOptions;
}

export async function playResyncStorm(
  open: OpenStage,
  { fix, cluster }: PlayOptions,
): Promise<IncidentFindings> {
  const timeline: TimelineEntry[] = [];
  return open(async (stage) => {
    const options = cluster(stage);
    const note = (text: string): void => {
      stage.say(text);
      timeline.push({ atMs: stage.now(), text });
    };
    const storms = await playStorms(stage, { ...options, fix, note });
    return {
      timeline,
      ...findingsOf(storms, { ...options, fix, isWriteUp: isWriteUp(options) }),
    };
  });
}

/** What the compared figures depend on; the period between two storms is an input and no result. */
function isWriteUp({ services, headless, limits }: ResyncStormOptions): boolean {
  const { services: all, headless: some, limits: usual } = writeUpCluster;
  return services === all && headless === some && limits === usual;
}

function clusterFor({ mode }: Stage): ResyncStormOptions {
  return mode === "live" ? liveCluster : writeUpCluster;
}
