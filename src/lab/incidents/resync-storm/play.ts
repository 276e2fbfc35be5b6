// How the incident `resync-storm` is played: the controllers start, hours pass until the first
// resync, which shows how long the period is, and again until shortly before the second one. Then
// there are replicas, traffic, a release in quiet times and one in the storm. At last the limits are
// raised, as the write-up did, with a server that keeps up and with one that does not.
import type { Journey } from "../../../timeline/journey.ts";
import type { SideName } from "../../comparison/side.ts";
import type { Tally } from "../../traffic/tally.ts";
import type { TrafficResult } from "../../traffic/traffic-result.ts";
import { Scene } from "../scene.ts";
import type { Stage } from "../stage.ts";
import type { SameInstant } from "../usual-findings.ts";
import {
  type FirstStorm,
  type FirstStormOptions,
  lookLeastMs,
  stormLookMs,
  untilSecondStorm,
} from "./resync-storm-first.ts";
import { StormMeter } from "./resync-storm-meter.ts";
import { crowdObjects } from "./resync-storm-objects.ts";
import type { Point, QueueLook } from "./resync-storm-queue.ts";
import { flagsOf, type RaisedLimits, type StormLimits } from "./settings.ts";
import { type Constraint, constraintOf, measureStorm, type Storm } from "./storm.ts";

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
