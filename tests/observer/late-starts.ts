// Only for tests: observers that start at random moments of one play of an incident, all judged by the
// same truth. Most moments of a play are quiet, so some start soon after a disagreement began.
import { type Random, randomBetween } from "../../src/environment/random.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import type { ObservablePlay, Stage } from "../../src/lab/incidents/stage.ts";
import { VirtualStages } from "../../src/lab/incidents/virtual-stage.ts";
import type { PublishedForm } from "../../src/sources/published-form.ts";
import { withoutDistance } from "./exact-observer.ts";
import { IncidentTruth } from "./incident-truth.ts";
import { type Judged, StartedObserver } from "./started-observer.ts";

const cluster = "blue";

/** In one play: an observer costs little beside the play. */
const observersMax = 10;

/** Of these, those that start whether anything disagrees or not. */
const anyMoments = 3;

/** Of the others, some start at most so long after a disagreement began; most of them sooner. */
const sinceBeganMs = 10_000;
const atOnce = 2;

/** Disagreements begin together; those that begin up to so much later are passed over. */
const apartMs = 10_000;

/** The share of observers that ask stock replicas each second; to the others they report at once. */
const askingShare = 0.4;

/** An incident at a size that costs little. */
export interface StartedIncident {
  /** From when the cluster can be observed, about. */
  readonly lastsMs: number;
  /** As the version of Kubernetes publishes. */
  readonly form: PublishedForm;
  readonly play: (stage: Stage) => Promise<unknown>;
}

class LateStarts {
  readonly truth: IncidentTruth;
  readonly #stage: Stage;
  readonly #random: Random;
  readonly #observers: StartedObserver[] = [];
  readonly #running: Promise<void>[] = [];
  #observed: ObservablePlay | undefined;
  #nextMs = 0;
  #isOver = false;

  constructor(stage: Stage, form: PublishedForm) {
    this.#stage = stage;
    const { clock, random } = stage.environmentOf("late-observer");
    this.#random = random;
    this.truth = new IncidentTruth(clock, cluster, form);
    this.truth.onDisagreement = () => this.#startSoon();
  }

  /** From now on the cluster can be observed, for so long. */
  open(observed: ObservablePlay, lastsMs: number): void {
    this.#observed = observed;
    for (let count = 0; count < anyMoments; count += 1) {
      this.#running.push(this.#start(randomBetween(this.#random, 0, lastsMs), () => true));
    }
  }

  /** Later events do not count. Idempotent. */
  end(): void {
    this.#isOver = true;
    for (const observer of this.#observers) observer.end();
  }

  async judge(judged: Judged): Promise<void> {
    await Promise.all(this.#running);
    for (const observer of this.#observers) observer.judge(judged);
  }

  /** A disagreement has begun: some observers start while it may last. */
  #startSoon(): void {
    const nowMs = this.#stage.now();
    if (this.#observed === undefined || nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + randomBetween(this.#random, 0, apartMs);
    for (let count = 0; count < atOnce; count += 1) {
      const afterMs = this.#random.next() * randomBetween(this.#random, 0, sinceBeganMs);
      this.#running.push(this.#start(afterMs, () => !this.truth.isAgreed));
    }
  }

  async #start(afterMs: number, isWanted: () => boolean): Promise<void> {
    await this.#stage.sleep(afterMs);
    const isFull = this.#observers.length >= observersMax;
    const observed = this.#observed;
    if (observed === undefined || this.#isOver || isFull || !isWanted()) return;
    const observer = new StartedObserver({
      ...this.#stage.environmentOf("late-observer"),
      // From this machine a request takes no time.
      client: new HttpKubeClient({
        ...this.#stage.environmentOf("user"),
        cluster: observed.access,
        userAgent: "late-observer",
      }),
      cluster,
      truth: this.truth,
      asked: this.#random.next() < askingShare ? observed.proxies : [],
    });
    this.#observers.push(observer);
    await observer.run();
  }
}

/** Plays it once; adds what was judged. */
export async function judgeStarts(
  seed: number,
  judged: Judged,
  incident: StartedIncident,
): Promise<void> {
  const { form, lastsMs, play } = incident;
  const stages = new VirtualStages({ seed, onOpened: withoutDistance });
  await stages.open(async (stage) => {
    const starts = new LateStarts(stage, form);
    await play({
      ...stage,
      truth: starts.truth,
      onObservable: (observed) => starts.open(observed, lastsMs),
      // Called when a play is over and nothing has been cleared away yet.
      accuracy: { add: () => starts.end() },
    });
    await starts.judge(judged);
  });
}
