// Only for tests: stories of endpoints that come and go, as witnesses of every kind would tell them,
// and what an observer must make of each. A story keeps what makes it decidable: a witness tells in
// order, and after changes that it leaves out it is silent for a while.
import fc from "fast-check";
import type { Journey } from "./journey.ts";
import { settleMs } from "./journey-limits.ts";
import {
  expectedJourneys,
  pod,
  published,
  reportOf,
  reportsOf,
  stock,
  storyWitnesses,
  type Telling,
  type Told,
} from "./told-change.contract.ts";
import type { Direction, WitnessReport } from "./witness.ts";

/** How late a witness can be. */
const delayMaxMs = 5_000;

/** Between what happens to one address: long enough for all to have shown, or settled, what was. */
const calmMs = settleMs + 2 * delayMaxMs + 1_000;

/** How one witness tells one change, or the two of a flap. */
const telling = fc.record({
  delayMs: fc.nat(delayMaxMs - 1),
  leavesOut: fc.boolean(),
  /** It tells a flap so late that it has been taken to leave it out. */
  isForgotten: fc.boolean(),
  /** It was blind and finds the change in a list; it was last heard so long before the change. */
  blindForMs: fc.option(fc.integer({ min: 1, max: 20_000 }), { nil: undefined, freq: 4 }),
});

const tellings = fc.array(telling, {
  minLength: storyWitnesses.length,
  maxLength: storyWitnesses.length,
});

/** One pod's life: it joins, is unready a few times, and leaves. */
const life = fc.record({
  join: tellings,
  flaps: fc.array(fc.record({ forMs: fc.integer({ min: 1, max: 4_000 }), tellings }), {
    maxLength: 3,
  }),
  leave: tellings,
  /** The next pod gets the address after so long; undefined for long after. */
  vacantMs: fc.option(fc.integer({ min: 1, max: 4_000 }), { nil: undefined }),
});

const addresses = fc.record({
  /** What is published when the observation begins of a pod that all others have. */
  beginning: fc.constantFrom("no pod", "published", "published late", "published very late"),
  lives: fc.array(life, { minLength: 1, maxLength: 3 }),
});

/** Addresses, each with the pods that have it one after the other. */
export const stories = fc.array(addresses, { minLength: 1, maxLength: 3 });

export type Story = typeof stories extends fc.Arbitrary<infer S> ? S : never;
type Life = Story[number]["lives"][number];
type How = Partial<Life["join"][number]>;

export interface ToldStory {
  /** In the order in which they are heard. */
  readonly reports: readonly WitnessReport[];
  /** In the order of their origins. */
  readonly journeys: readonly Partial<Journey>[];
  readonly endsAt: number;
}

export function tell(story: Story): ToldStory {
  const tellers = story.map(({ beginning, lives }, index) => {
    const teller = new Teller(`10.0.0.${index}`);
    teller.begin(beginning);
    for (const [generation, one] of lives.entries()) {
      teller.live(`pod-${index}-${generation}`, one, generation === lives.length - 1);
    }
    return teller;
  });
  const changes = tellers.flatMap((one) => one.changes);
  const reports = [...tellers.flatMap((one) => one.others), ...changes.flatMap(reportsOf)];
  return {
    reports: reports.sort((a, b) => a.at - b.at),
    journeys: changes.flatMap((one) => expectedJourneys(one, changes)).sort(byOrigin),
    endsAt: Math.max(...tellers.map(({ now }) => now)) + calmMs,
  };
}

/** What a test compares. */
export function essence({ endpoint, direction, origin, hops, outcome }: Journey): Partial<Journey> {
  return { endpoint, direction, origin, hops, outcome };
}

/** Two addresses can have changes at the same instant. */
export function byOrigin(a: Partial<Journey>, b: Partial<Journey>): number {
  const byTime = (a.origin?.at ?? 0) - (b.origin?.at ?? 0);
  return byTime || (a.endpoint?.address ?? "").localeCompare(b.endpoint?.address ?? "", "en");
}

/** Goes through what happens to one address. */
class Teller {
  readonly changes: Told[] = [];
  /** Reports that belong to no journey. */
  readonly others: WitnessReport[] = [];
  now = 1_000;
  readonly #address: string;
  /** By witness, when it last told anything: it tells in order. */
  readonly #lastAt = storyWitnesses.map(() => 0);
  /** The address changed hands so fast that its owners cannot be told apart by it. */
  #isHandedOver = false;

  constructor(address: string) {
    this.#address = address;
  }

  begin(beginning: Story[number]["beginning"]): void {
    if (beginning === "no pod") return;
    const join = {
      uid: `first-${this.#address}`,
      address: this.#address,
      direction: "join",
    } as const;
    const at = (ms: number): Telling => ({ at: ms, notBefore: undefined });
    for (const index of storyWitnesses.keys()) {
      if (index === published && beginning !== "published") continue;
      this.others.push({ ...reportOf(join, index, at(0)), baseline: true });
    }
    if (beginning === "published late") this.others.push(reportOf(join, published, at(3_001)));
    if (beginning === "published very late") {
      const by = storyWitnesses.map((_, index) => (index === published ? at(40_001) : "unchanged"));
      this.changes.push({ ...join, by, beforeStart: true });
    }
    this.now += 40_001 + calmMs;
    this.#change(join.uid, "leave", []);
    this.now += calmMs;
  }

  live(uid: string, { join, flaps, leave, vacantMs }: Life, isLast: boolean): void {
    this.#change(uid, "join", join);
    this.#isHandedOver = false;
    this.now += calmMs;
    for (const [index, { forMs, tellings: told }] of flaps.entries()) {
      // Whether others tell a flap late that they had left out, or another, only the pod watch can
      // say: of the second and third it is the first to tell.
      const how: readonly How[] = told;
      this.#flap(uid, forMs, index === 0 ? how : how.with(pod, {}));
      this.now += calmMs;
    }
    // Who left out a flap and is then ahead of the pod watch is believed once that has caught up: in
    // the meantime the address must not change hands.
    this.#isHandedOver = vacantMs !== undefined && !isLast && flaps.length === 0;
    this.#change(uid, "leave", leave);
    this.now += this.#isHandedOver ? (vacantMs ?? 0) : calmMs;
  }

  #change(uid: string, direction: Direction, how: readonly How[]): void {
    const by = storyWitnesses.map((_, index) =>
      this.#isHandedOver && index === stock ? "unchanged" : this.#tell(index, this.now, how[index]),
    );
    this.changes.push({ uid, address: this.#address, direction, by });
  }

  /** The pod leaves and joins again; who leaves that out leaves out both. */
  #flap(uid: string, forMs: number, how: readonly How[]): void {
    const at = this.now;
    const isForgotten = (index: number): boolean =>
      index !== pod && how[index]?.isForgotten === true && how[pod]?.leavesOut !== true;
    const tells = (index: number): boolean => how[index]?.leavesOut !== true && !isForgotten(index);
    const sources = [pod, published].filter(tells);
    const told = new Map(sources.map((index) => [index, this.#tell(index, at, late(how[index]))]));
    // A replica that were alone with it would be taken to have changed its mind.
    const firstAt = Math.min(...[...told.values()].map((one) => one.at));
    for (const index of storyWitnesses.keys()) {
      if (told.has(index) || !tells(index) || told.size === 0) continue;
      told.set(index, this.#tell(index, Math.max(at, firstAt), late(how[index])));
    }
    this.now += forMs;
    const again = [...told.keys()].map(
      (index) => [index, this.#tell(index, this.now, late(how[index]))] as const,
    );
    const back = new Map(again);
    const of = { uid, address: this.#address };
    const by = (
      direction: Direction,
      all: ReadonlyMap<number, Telling>,
      otherwise: LeftOut,
    ): Told => ({
      ...of,
      direction,
      by: storyWitnesses.map((_, index) => all.get(index) ?? otherwise),
    });
    this.changes.push(by("leave", told, "passed"), by("join", back, "unchanged"));
    this.now += calmMs;
    for (const direction of ["leave", "join"] as const) {
      for (const index of storyWitnesses.keys()) {
        if (!isForgotten(index)) continue;
        const one = this.#tell(index, this.now, late(how[index]));
        this.others.push(reportOf({ ...of, direction }, index, one));
      }
    }
  }

  /** Times end in the number of the witness, so that no two at an address are the same. */
  #tell(index: number, from: number, { delayMs = 0, blindForMs }: How = {}): Telling {
    const soonest = Math.max(from + delayMs, (this.#lastAt[index] ?? 0) + 10);
    const at = Math.ceil(soonest / 10) * 10 + index;
    this.#lastAt[index] = at;
    const isBlind = blindForMs !== undefined && index !== stock;
    return { at, notBefore: isBlind ? from - blindForMs : undefined };
  }
}

type LeftOut = "passed" | "unchanged";

/** In a flap nobody is blind: a list would have shown neither change. */
function late({ delayMs = 0 }: How = {}): How {
  return { delayMs };
}
