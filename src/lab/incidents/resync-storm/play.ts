// The incident `resync-storm`: after every resync a controller manager of 1.17.3 writes the Endpoints of
// each headless service again. Its client limit allows 20 requests a second, so every real change waits
// for ten minutes behind thousands of PUTs that change nothing. Lockstep watches the pods and does not
// wait. The play: the controllers start; hours pass until the first resync, which shows the period, and
// until shortly before the second one; then come replicas, traffic, a release in quiet times and two in
// the storm. At the end the limits are raised, as in the write-up, with a fast and with a slow server.
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { endpointsKind } from "../../../kube/kinds/endpoints.ts";
import { Reflector } from "../../../kube/reflector/reflector.ts";
import { noChecks } from "../../../kube/reflector/reflector-parts.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { Cluster } from "../../cluster.ts";
import type { SideName } from "../../comparison/side.ts";
import { QueueWatch, type TimedLook } from "../../probe/queue-watch.ts";
import { shopService } from "../../shop.ts";
import type { Tally } from "../../traffic/tally.ts";
import type { TrafficResult } from "../../traffic/traffic-result.ts";
import type { Incident, IncidentFindings, Series, TimelineEntry } from "../incident.ts";
import { Scene } from "../scene.ts";
import type { OpenStage, Stage } from "../stage.ts";
import type { SameInstant } from "../usual-findings.ts";
import { findingsOf } from "./figures.ts";
import {
  fillerObjects,
  flagsOf,
  type RaisedLimits,
  type ResyncStormSettings,
  shortSettings,
  writeUpSettings,
} from "./settings.ts";
import { measureStorm, type Storm, StormCounters } from "./storm.ts";

export const resyncStorm: Incident = {
  name: "resync-storm",
  rule: "headless-rewrites",
  summary: "some releases are followed by requests to deleted pods for minutes",
  cause:
    "at each resync, every 12 to 24 hours, Kubernetes 1.17.3 writes the Endpoints of every headless " +
    "service without need, at 20 a second, and real changes wait behind these writes",
  fix: "Kubernetes 1.17.13, which compares the labels of headless services correctly (PR 94112)",
  play: (open, { fix }) => playResyncStorm(open, { fix, settings: settingsFor }),
};

interface PlayOptions {
  readonly fix: boolean;
  /** The settings for a stage. */
  readonly settings: (stage: Stage) => ResyncStormSettings;
}

export async function playResyncStorm(
  open: OpenStage,
  { fix, settings }: PlayOptions,
): Promise<IncidentFindings> {
  const timeline: TimelineEntry[] = [];
  return open(async (stage) => {
    const options = settings(stage);
    const note = (text: string): void => {
      stage.say(text);
      timeline.push({ atMs: stage.now(), text });
    };
    const storms = await playStorms(stage, { ...options, fix, note });
    const findings = findingsOf(storms, { ...options, fix, isWriteUp: isWriteUp(options) });
    return { timeline, ...findings };
  });
}

/** The compared figures depend on these settings; the period between two storms is an input. */
function isWriteUp({ services, headless, limits }: ResyncStormSettings): boolean {
  const { services: all, headless: some, limits: usual } = writeUpSettings;
  return services === all && headless === some && limits === usual;
}

function settingsFor({ size }: Stage): ResyncStormSettings {
  return size === "short" ? shortSettings : writeUpSettings;
}

interface PlayedSettings extends ResyncStormSettings {
  readonly fix: boolean;
  readonly note: (text: string) => void;
}

/** The record of a play. */
export interface Storms {
  readonly first: Storm;
  readonly second: Storm;
  /** Between the two; from the looks at the queue when there were no requests. */
  readonly periodMs: number;
  /** Of the release before the second storm. */
  readonly quiet: readonly Journey[];
  /** Of the releases in the second storm. */
  readonly during: readonly Journey[];
  /** Of the second of these releases, whose key waits behind all keys that are left. */
  readonly behindAll: readonly Journey[];
  readonly tallies: Readonly<Record<SideName, Tally>>;
  readonly results: readonly TrafficResult[];
  /** One instant on the clock of journeys and results, and on the stage's. */
  readonly instant: SameInstant;
  /** Depth of the endpoint queue and rate of PUTs. */
  readonly queue: readonly Series[];
  /** With raised limits; undefined where they were not tried. */
  readonly raised: RaisedStorms | undefined;
}

export interface RaisedStorms {
  /** The start of the process with the raised limits. */
  readonly restart: Storm;
  readonly unbounded: Storm;
  readonly bounded: Storm;
}

/** The first release starts after this share of the second storm, as long as the first one was. */
const releaseAtShare = 0.1;

/** In quiet times a release takes some seconds. */
const quietReleaseWithinMs = 60_000;

/** A slow server refuses no request. */
const maxQueued = 1_000_000;

/** Ready after two seconds; then probed rarely, because hours pass. */
const shop = {
  probe: { initialDelaySeconds: 2, periodSeconds: 60 },
  terminationGracePeriodSeconds: 5,
};

async function playStorms(stage: Stage, options: PlayedSettings): Promise<Storms> {
  const counters = new StormCounters(() => stage.now());
  const { services, resyncFactor, fix, note } = options;
  note(`${(services + 1).toLocaleString("en-US")} services exist; the controllers start`);
  let early: FirstStorm | undefined;
  const scene = await Scene.open(stage, {
    cluster: {
      profile: fix ? "1.17.13" : "1.17.3",
      flags: flagsOf(options.limits, options.minResyncMs),
      ...(resyncFactor === undefined ? {} : { resyncFactor }),
      objects: fillerObjects(options),
      observers: [counters.requests],
    },
    shop,
    beforeReplicas: async (_client, cluster) => {
      early = await untilSecondStorm(stage, cluster, counters, options);
    },
  });
  if (early === undefined) throw new Error("the first storm was not played");
  try {
    return await new LateStorms(scene, counters, early, options).play();
  } finally {
    await early.endpoints.stop();
    await scene.stop();
  }
}

interface FirstStorm {
  readonly storm: Storm;
  readonly queue: QueueWatch;
  readonly endpoints: { stop(): Promise<void> };
}

/** Between two looks in quiet times: a share of the shortest period, at least a second. */
const lookShare = 1 / 360;
const lookLeastMs = 1_000;
const stormLookMs = 5_000;

/** Before a storm the replicas start and one release passes in this time. */
const leadMaxMs = 60_000;
const leadShare = 0.4;

/** The start and the first storm. Only the operator watches, so hours cost little. */
async function untilSecondStorm(
  stage: Stage,
  cluster: Cluster,
  counters: StormCounters,
  options: PlayedSettings,
): Promise<FirstStorm> {
  const { services, minResyncMs, note } = options;
  const client = operatorClient(stage, cluster);
  const queue = new QueueWatch({
    ...stage.environmentOf("operator"),
    metricsUrl: () => cluster.controlPlane.metricsUrl,
    now: () => stage.now(),
    queue: "endpoint",
    requests: { method: "PUT" },
  });
  const lookMs = Math.max(minResyncMs * lookShare, lookLeastMs);
  const startedMs = stage.now();
  await queue.untilAdded({ ...(await queue.look()), adds: 0 }, services, stormLookMs);
  await queue.untilEmpty(stormLookMs);
  const endpoints = watchEndpoints(stage, cluster, counters);
  await endpoints.waitForSync();
  note("all services are published; hours pass");
  const before = await queue.untilAdded(await queue.look(), services, lookMs);
  note("the first resync");
  const after = await queue.untilEmpty(stormLookMs);
  const { workers } = options.limits;
  const looks = { before, after, workers, writesPerSecond: undefined };
  const storm = await measureStorm({ client, stage }, counters, looks);
  note(`the queue is empty after ${storm.requests.toLocaleString("en-US")} PUTs; hours pass`);
  // Without requests the resync came up to one look later than `atMs`.
  const periodMs = storm.atMs - startedMs;
  const leadMs = Math.min(leadMaxMs, periodMs * leadShare);
  await stage.sleep(Math.max(0, storm.atMs + periodMs - leadMs - stage.now()));
  return { storm, queue, endpoints };
}

function operatorClient(stage: Stage, { access }: Cluster): HttpKubeClient {
  const environment = stage.environmentOf("operator");
  return new HttpKubeClient({ ...environment, cluster: access, userAgent: "kubectl" });
}

/** A watch of all Endpoints; changes of the shop's own are no part of a storm. */
function watchEndpoints(stage: Stage, cluster: Cluster, counters: StormCounters) {
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
        if (type === "updated" && !isShop) counters.changed();
      },
    ],
  });
  reflector.start();
  return reflector;
}

/** The second storm, under traffic, and the raised limits. */
class LateStorms {
  readonly #scene: Scene;
  readonly #counters: StormCounters;
  readonly #early: FirstStorm;
  readonly #options: PlayedSettings;

  constructor(scene: Scene, counters: StormCounters, early: FirstStorm, options: PlayedSettings) {
    this.#scene = scene;
    this.#counters = counters;
    this.#early = early;
    this.#options = options;
  }

  async play(): Promise<Storms> {
    const { queue } = this.#early;
    const { raised, fix } = this.#options;
    queue.record();
    const traffic = this.#scene.startTraffic();
    const quiet = await this.#releaseInQuiet();
    const { storm, byLuck, behindAll } = await this.#secondStorm();
    const tallies = await traffic.finish();
    return {
      first: this.#early.storm,
      second: storm,
      periodMs: storm.atMs - this.#early.storm.atMs,
      quiet,
      during: [...byLuck, ...behindAll],
      behindAll,
      tallies,
      results: traffic.results,
      instant: { observer: this.#scene.now(), stageMs: this.#scene.stage.now() },
      queue: queue.series(),
      raised: raised === undefined || fix ? undefined : await this.#raise(raised),
    };
  }

  async #releaseInQuiet(): Promise<readonly Journey[]> {
    const { note } = this.#options;
    note("a release in quiet times");
    return await this.#scene.release("quiet", quietReleaseWithinMs);
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
    stage.onTrouble?.(this.#scene.cluster.access);
    const drained = queue.untilEmpty(stormLookMs);
    await stage.sleep(first.drainMs * releaseAtShare);
    // The key of the first release may still be in the queue. The key of the second was just written and
    // waits behind all others.
    const byLuck = await this.#releaseInStorm("first");
    const behindAll = first.requests === 0 ? [] : await this.#releaseInStorm("second");
    const after = await drained;
    const { workers } = this.#options.limits;
    const looks = { before, after, workers, writesPerSecond: undefined };
    const storm = await measureStorm(this.#scene, this.#counters, looks);
    note(`the queue is empty after ${storm.requests.toLocaleString("en-US")} PUTs`);
    return { storm, byLuck, behindAll };
  }

  /** A change waits for a whole storm at most, and then takes as long as in quiet times. */
  async #releaseInStorm(which: string): Promise<readonly Journey[]> {
    const { note, fix } = this.#options;
    note(`the ${which} release ${fix ? "after the resync" : "in the storm"}`);
    const withinMs = 2 * this.#early.storm.drainMs + quietReleaseWithinMs;
    const journeys = await this.#scene.release(which, withinMs);
    note(`the ${which} release has reached every replica`);
    return journeys;
  }

  async #raise(raised: RaisedLimits): Promise<RaisedStorms> {
    const { queue } = this.#early;
    const { note } = this.#options;
    const { cluster, stage } = this.#scene;
    note(`the controllers restart with ${raised.workers} workers and ${raised.qps} requests/s`);
    const restartedMs = stage.now();
    await cluster.controlPlane.restart(flagsOf(raised, raised.minResyncMs));
    const started = { ...(await queue.look()), atMs: restartedMs, adds: 0 };
    const restart = await this.#nextStorm(started, raised);
    const unbounded = await this.#nextStorm(await queue.look(), raised);
    note(`the API server is limited to ${raised.writesPerSecond} writes a second`);
    for (const { apiServer } of cluster.servers) {
      const requestsPerSecond = raised.writesPerSecond;
      apiServer.faults.setCapacity({ requestsPerSecond, maxQueued, of: "writes" });
    }
    const { writesPerSecond } = raised;
    const bounded = await this.#nextStorm(await queue.look(), raised, writesPerSecond);
    return { restart, unbounded, bounded };
  }

  async #nextStorm(
    since: TimedLook,
    { workers }: RaisedLimits,
    writesPerSecond?: number,
  ): Promise<Storm> {
    const { queue } = this.#early;
    const before = await queue.untilAdded(since, this.#options.services, stormLookMs);
    const after = await queue.untilEmpty(stormLookMs);
    const looks = { before, after, workers, writesPerSecond };
    return await measureStorm(this.#scene, this.#counters, looks);
  }
}
