// Only for tests: an observer that starts in the middle of an incident, and its judgement by what was
// really so: each disagreement that lasts is in flight at its hop, each that was there at the start
// ends when it really did, and nothing else is in flight.
import { expect } from "vitest";
import type { Clock } from "../../src/environment/clock.ts";
import type { Environment } from "../../src/environment/environment.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { Observer } from "../../src/observe/observer.ts";
import type { RoutedInput, RoutedWitness } from "../../src/observe/routed-witness.ts";
import type { Journey } from "../../src/timeline/journey.ts";
import {
  type Disagreement,
  type IncidentTruth,
  nameOf,
  type PlacedChange,
  type PlacedStep,
} from "./incident-truth.ts";

export interface StartedObserverOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  readonly truth: IncidentTruth;
}

/** How much was judged. */
export interface Judged {
  /** Disagreements between pods and published objects that were there at a start. */
  published: number;
  /** Those between pods and proxies. */
  routed: number;
  /** Of both, those that lasted and so had to be in flight. */
  inFlight: number;
  /** Of both, those whose end was compared. */
  ended: number;
  /** Changes of services without pods. */
  withoutPods: number;
}

/** How soon a disagreement is shown. */
const shownWithinMs = 5_000;

/** So long after anything has happened to an endpoint whose pod changes, all is clear about it. */
const quietMs = 15_000;

const lookEveryMs = 1_000;

/** Digits behind the point of a millisecond: a lag is a difference of two times. */
const digits = 6;

interface Look {
  readonly at: number;
  readonly pending: readonly Journey[];
}

export class StartedObserver {
  readonly #clock: Clock;
  readonly #timers: StartedObserverOptions["timers"];
  readonly #truth: IncidentTruth;
  readonly #observer: Observer;
  readonly #replicas = new Map<string, RoutedWitness>();
  /** Those that were over before the end, and then those that were in flight. */
  readonly #journeys: Journey[] = [];
  readonly #looks: Look[] = [];
  readonly #ending = new AbortController();
  #stopListening: () => void = () => undefined;
  /** When all was listed and every replica had reported; never, if the play was over before. */
  #begunAt = Number.POSITIVE_INFINITY;
  #endedAt = Number.POSITIVE_INFINITY;

  constructor(options: StartedObserverOptions) {
    const { client, cluster, truth, ...environment } = options;
    this.#clock = options.clock;
    this.#timers = options.timers;
    this.#truth = truth;
    this.#observer = new Observer({
      ...environment,
      clusters: [{ cluster, client }],
      accessClusters: [],
      nodes: false,
      onEvent: ({ type, journey }) => {
        if (type === "over" && !this.#ending.signal.aborted) this.#journeys.push(journey);
      },
    });
  }

  /** Observes until `end`. */
  async run(): Promise<void> {
    const { signal } = this.#ending;
    const startedAt = this.#clock.monotonicMs();
    this.#observer.start();
    try {
      await this.#observer.waitForSync(signal);
      this.#begin();
      expect(this.#begunAt, "without distance a list takes no time").toBe(startedAt);
      await this.#timers.sleep(shownWithinMs, signal);
      for (;;) {
        this.#looks.push({ at: this.#clock.monotonicMs(), pending: this.#pending() });
        await this.#timers.sleep(lookEveryMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await this.#observer.stop();
    }
  }

  /** What happens from now on does not count. Idempotent. */
  end(): void {
    if (this.#ending.signal.aborted) return;
    this.#endedAt = this.#clock.monotonicMs();
    this.#journeys.push(...this.#pending());
    this.#stopListening();
    this.#ending.abort(new Error("the play is over"));
  }

  /** To be called after the end; adds what it has judged. */
  judge(judged: Judged): void {
    for (const look of this.#looks) {
      this.#judgeInFlight(look);
      this.#judgeInvented(look);
    }
    const [first] = this.#looks;
    for (const one of this.#truth.disagreements.filter((each) => isAt(each, this.#begunAt))) {
      if (one.hop === "published") judged.published += 1;
      else judged.routed += 1;
      if (first !== undefined && isAt(one, first.at)) judged.inFlight += 1;
      if (one.to >= this.#endedAt) continue;
      this.#judgeEnd(one);
      judged.ended += 1;
    }
    for (const journey of this.#journeys) {
      if (journey.origin.beforeStart === true) this.#judgeBeginning(journey);
      if (this.#truth.isOfPods(journey.endpoint.service)) continue;
      this.#judgeWithoutPods(journey);
      judged.withoutPods += 1;
    }
  }

  #begin(): void {
    const at = this.#clock.monotonicMs();
    this.#begunAt = at;
    for (const [name, routes] of this.#truth.routes) this.#witnessOf(name).began(routes, at);
    this.#stopListening = this.#truth.listen((replica, input) => this.#heard(replica, input));
  }

  /** The first report of a replica is a state. */
  #heard(replica: string, input: RoutedInput): void {
    const isFirst = !this.#replicas.has(replica);
    const witness = this.#witnessOf(replica);
    if (isFirst && input.type === "routed") {
      witness.began(new Map([[input.service, input.endpoints]]), input.at);
    } else witness.take(input);
    if (input.type === "stop") this.#replicas.delete(replica);
  }

  #witnessOf(replica: string): RoutedWitness {
    const witness = this.#replicas.get(replica) ?? this.#observer.replica(replica);
    this.#replicas.set(replica, witness);
    return witness;
  }

  #pending(): readonly Journey[] {
    return this.#observer.journeys.pending();
  }

  /** What has lasted for some seconds is in flight, and without a beginning if it was there first. */
  #judgeInFlight({ at, pending }: Look): void {
    const waited = new Set(pending.flatMap(waitsOf));
    const old = pending.filter(({ origin }) => origin.beforeStart === true);
    const waitedFromStart = new Set(old.flatMap(waitsOf));
    const lasting = this.#truth.disagreements.filter(
      (one) => isAt(one, at) && Math.max(one.from, this.#begunAt) <= at - shownWithinMs,
    );
    const missing = lasting.filter((one) => {
      const all = one.from < this.#begunAt ? waitedFromStart : waited;
      return !all.has(nameOf(one));
    });
    expect(missing, `not in flight at ${at}`).toEqual([]);
  }

  /** Where nothing happens, each hop that is waited for disagrees. */
  #judgeInvented({ at, pending }: Look): void {
    const real = new Set(this.#truth.disagreements.filter((one) => isAt(one, at)).map(nameOf));
    const isQuiet = (journey: Journey): boolean => this.#isQuiet(placeOf(journey), at);
    const isReal = (journey: Journey): boolean => {
      const waits = waitsOf(journey);
      return waits.length > 0 && waits.every((name) => real.has(name));
    };
    const invented = pending.filter((journey) => isQuiet(journey) && !isReal(journey));
    expect(invented, `in flight at ${at}, and no disagreement`).toEqual([]);
    const withoutPods = pending.filter(({ endpoint }) => !this.#truth.isOfPods(endpoint.service));
    expect(withoutPods, `in flight at ${at}, and of no pods`).toEqual([]);
  }

  /** Where pods have changed, it is not clear at once which of their changes a witness follows. */
  #isQuiet(place: string, at: number): boolean {
    const since = this.#truth
      .changesOf(place)
      .filter((one) => one.at >= this.#begunAt && one.at <= at);
    const isUnclear = since.some(({ hop }) => hop === "pod");
    const lastAt = since.at(-1)?.at ?? -Infinity;
    return at - lastAt > (isUnclear ? quietMs : shownWithinMs);
  }

  /** One that was there at the start ends when its witness came to agree, and at no other time. */
  #judgeEnd(one: Disagreement): void {
    const ofIt = this.#journeys.filter(
      ({ origin, direction, ...journey }) =>
        origin.beforeStart === true &&
        direction === one.direction &&
        placeOf(journey) === one.place,
    );
    const ends = ofIt.flatMap((journey) => shownAt(journey, one));
    const isSameStep = (change: PlacedChange): boolean => nameOf(change) === nameOf(one);
    const real = this.#truth
      .changesOf(one.place)
      .filter((change) => isSameStep(change) && change.at > this.#begunAt);
    // Pods that changed first leave it open whether the witness ever followed the change before.
    if (one.endedBy === "witness") {
      expect(ends, `the end of ${nameOf(one)}`).toEqual([expect.closeTo(one.to, digits)]);
      return;
    }
    const invented = ends.filter((end) => !real.some(({ at }) => Math.abs(at - end) < 1e-6));
    expect(invented, `${nameOf(one)} was ended by ${one.endedBy}`).toEqual([]);
  }

  /** It began at the start or later, and there was something to disagree about. */
  #judgeBeginning(journey: Journey): void {
    const { direction, origin } = journey;
    const real = this.#truth.disagreements.filter(
      (one) =>
        one.place === placeOf(journey) && one.direction === direction && one.to > this.#begunAt,
    );
    expect(real.length, `disagreements about ${placeOf(journey)}`).toBeGreaterThan(0);
    expect(origin.at).toBeGreaterThanOrEqual(this.#begunAt);
  }

  /** The published object is all there is, so each change of it is complete at once. */
  #judgeWithoutPods(journey: Journey): void {
    const { direction, origin, outcome, hops } = journey;
    const shown = hops.map(({ hop, state }) => `${hop} ${state.type}`);
    expect([outcome, origin.beforeStart, shown]).toEqual([
      "complete",
      undefined,
      ["published shown"],
    ]);
    const changes = this.#truth.changesOf(placeOf(journey));
    const real = changes.filter((one) => one.direction === direction && one.at === origin.at);
    expect(real.length, `changes of ${placeOf(journey)} at ${origin.at}`).toBe(1);
  }
}

function isAt({ from, to }: Disagreement, at: number): boolean {
  return from <= at && to > at;
}

function placeOf({ endpoint: { service, address, port } }: Pick<Journey, "endpoint">): string {
  return `${service} ${address} ${port}`;
}

/** The names of the steps that the journey waits for. */
function waitsOf(journey: Journey): readonly string[] {
  const { direction, hops } = journey;
  return hops
    .filter(({ state: { type } }) => type === "pending" || type === "stuck")
    .map(({ hop, witness }) => nameOf({ hop, witness, place: placeOf(journey), direction }));
}

/** When the journey was shown there. */
function shownAt({ origin, hops }: Journey, { hop, witness }: PlacedStep): readonly number[] {
  return hops.flatMap((one) =>
    one.hop === hop && one.witness === witness && one.state.type === "shown"
      ? [origin.at + one.state.lagMs]
      : [],
  );
}
