// Only for tests: an observer that starts in the middle of an incident, and its judgement by what was
// really so: each disagreement that lasts is in flight at its hop, each that was there at the start
// ends when it really did, and nothing else is in flight.
import { expect } from "vitest";
import type { Clock } from "../../src/environment/clock.ts";
import type { Environment } from "../../src/environment/environment.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { Observer } from "../../src/observe/observer.ts";
import type { ProxySource } from "../../src/observe/routed/proxy-source.ts";
import { proxySource } from "../../src/observe/routed/proxy-sources.ts";
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
  extends Pick<Environment, "clock" | "timers" | "random" | "network" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  /** `host:port` of replicas of ingress-nginx that are asked; all others report by themselves. */
  readonly asked: readonly string[];
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

/** Of a replica that is asked, routes are known so much later: a look of its workers, and messages. */
const askedLateMs = 1_100;
const askedEveryMs = 1_000;

/** So long after anything has happened to an endpoint whose pod changes, all is clear about it. */
const quietMs = 15_000;

const lookEveryMs = 1_000;

/** A lag is a difference of two times. */
const roundingMs = 1e-6;

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
  /** By replica. */
  readonly #asked: ReadonlyMap<string, ProxySource>;
  /** Those that were over before the end, and then those that were in flight. */
  readonly #journeys: Journey[] = [];
  readonly #looks: Look[] = [];
  readonly #ending = new AbortController();
  #stopListening: () => void = () => undefined;
  /** When all was listed and every replica had reported; never, if the play was over before. */
  #begunAt = Number.POSITIVE_INFINITY;
  #endedAt = Number.POSITIVE_INFINITY;

  constructor(options: StartedObserverOptions) {
    const { client, cluster, truth, asked, ...environment } = options;
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
    this.#asked = new Map(
      asked.map((address) => {
        const [name = ""] = address.split(":");
        const witness = this.#observer.replica(name);
        const source = proxySource({
          ...environment,
          address: { name, url: `http://${address}`, kind: "ingress-nginx" },
          witness,
          isService: (service) => this.#observer.isService(service),
          clusters: [cluster],
        });
        return [name, source] as const;
      }),
    );
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
      await Promise.all([...this.#asked.values()].map((source) => source.stop()));
      await this.#observer.stop();
    }
  }

  /** Later events do not count. Idempotent. */
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
      if (!this.#canKnowEnd(one)) continue;
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

  /** Whether it is over, and was neither before its witness first answered nor after it last did. */
  #canKnowEnd({ witness, to }: Disagreement): boolean {
    if (!this.#asked.has(witness)) return to < this.#endedAt;
    return to > this.#begunAt + askedLateMs && to < this.#endedAt - askedEveryMs - askedLateMs;
  }

  #begin(): void {
    const at = this.#clock.monotonicMs();
    this.#begunAt = at;
    for (const source of this.#asked.values()) source.start();
    for (const [name, routes] of this.#truth.routes) {
      if (!this.#asked.has(name)) this.#witnessOf(name).began(routes, at);
    }
    this.#stopListening = this.#truth.listen((replica, input) => this.#receive(replica, input));
  }

  /** The first report of a replica is a state. */
  #receive(replica: string, input: RoutedInput): void {
    if (this.#asked.has(replica)) return;
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

  /** A difference of some seconds is in flight, and has an unknown start if it was there first. */
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
    const isAsked = this.#asked.has(one.witness);
    const ends = ofIt.flatMap((journey) => shownAt(journey, one, isAsked));
    const isSameStep = (change: PlacedChange): boolean => nameOf(change) === nameOf(one);
    const steps = this.#truth
      .changesOf(one.place)
      .filter((change) => isSameStep(change) && change.at > this.#begunAt);
    // Pods that changed first leave it open whether the witness ever followed the change before.
    const real = one.endedBy === "witness" ? steps.slice(0, 1) : steps;
    const invented = ends.filter((end) => !real.some(({ at }) => contains(end, at)));
    expect(invented, `${nameOf(one)} ended at ${one.to}, by ${one.endedBy}`).toEqual([]);
    if (one.endedBy === "witness") expect(ends.length, `ends of ${nameOf(one)}`).toBe(1);
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

/** An instant, or the time in which it was. */
interface Period {
  readonly from: number;
  readonly until: number;
}

function contains({ from, until }: Period, at: number): boolean {
  return from - roundingMs <= at && at <= until + roundingMs;
}

/** When the journey was shown there: the very instant, unless only a period can be known. */
function shownAt(
  { origin, hops }: Journey,
  { hop, witness }: PlacedStep,
  isPeriod: boolean,
): readonly Period[] {
  return hops.flatMap(({ state, ...one }) => {
    if (one.hop !== hop || one.witness !== witness || state.type !== "shown") return [];
    const until = origin.at + state.lagMs;
    const earliest = origin.at + (state.range?.minMs ?? state.lagMs);
    return [{ from: isPeriod ? earliest : until, until }];
  });
}
