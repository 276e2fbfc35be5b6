// The history of every pod in the evidence, by address and by uid. An address passes from pod to
// pod, so each lookup is for an instant. Bounded: above the limit the pods that appeared first in
// the evidence are dropped, and counted.
import type { StringMap } from "../kube/kinds/intern.ts";
import { type NamespacePlace, placeKey } from "./coverage.ts";
import { LivesByLabel } from "./lives-by-label.ts";
import type { PodFacts } from "./pod-facts.ts";
import { type Moment, momentsBetween, type Seen, shownMs, wentAt } from "./pod-life.ts";
import type { Span } from "./span.ts";

export interface PodHistory {
  readonly cluster: string;
  /** As it was last seen. */
  readonly facts: PodFacts;
  /** In the order in which they became known. */
  readonly moments: readonly Moment[];
  /** When it got another address in place of each that it had before. */
  readonly moved: ReadonlyMap<string, Moment>;
  /** The API has it no more, as far as is known. */
  readonly isGone: boolean;
  /** Moments until this time were dropped, so the state before it is unknown. */
  readonly forgottenUntilMs: number;
}

interface KnownLife extends PodHistory {
  facts: PodFacts;
  moments: Moment[];
  forgottenUntilMs: number;
  /** Its share of `livesMax`. */
  weight: number;
  moved: ReadonlyMap<string, Moment>;
  /** The last list that named it, by number; a pod that a complete list lacks is gone. */
  lastList: number;
  /** The list that the facts came with or after, and when. */
  factsList: number;
  lastSeenMs: number;
  isGone: boolean;
}

/** At some 1 kB each half a GB: a month of a cluster with ten thousand new pods a day. */
const defaultLivesMax = 500_000;

/** The size of one history for the limit; a pod with thousands of labels counts as several. */
const lifeBytes = 1_000;

/** Some of each, as they are in memory. */
const labelBytes = 100;
const containerBytes = 150;
const momentBytes = 120;

/** A pod that flaps every ten seconds is remembered for an hour and more. Each request folds them. */
const momentsMax = 1_000;

/** All of these are compared for a request; a node's pods share its address, ten a day for months. */
const livesPerAddressMax = 1_000;

export class AddressLives {
  readonly #livesMax: number;
  /** By uid, in the order in which they first appeared. */
  readonly #lives = new Map<string, KnownLife>();
  /** Those that are to be forgotten next, once that has begun; it passes over what is gone. */
  #oldest: Iterator<readonly [uid: string, life: KnownLife]> | undefined;
  readonly #byAddress = new Map<string, KnownLife[]>();
  /** Those that the API has, by cluster and namespace: a whole list is compared with them. */
  readonly #present = new Map<string, Map<string, Set<KnownLife>>>();
  /** By `placeKey`. */
  readonly #byPlace = new Map<string, Set<KnownLife>>();
  readonly #byLabel = new LivesByLabel();
  /** Of all lives together. */
  #weight = 0;
  #dropped = 0;
  #momentsDropped = 0;

  constructor(options: { readonly livesMax?: number } = {}) {
    this.#livesMax = options.livesMax ?? defaultLivesMax;
  }

  get size(): number {
    return this.#lives.size;
  }

  /** Pods that had to be forgotten. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Changes of pods that are kept which had to be forgotten. */
  get momentsDropped(): number {
    return this.#momentsDropped;
  }

  /** A version of a pod; `list` is the list it came with, or the last one before it. */
  see(cluster: string, facts: PodFacts, seen: Seen, list: number): void {
    const life = this.#lives.get(facts.uid) ?? this.#add(cluster, facts);
    life.lastList = list;
    // Of two recordings of the same time the second adds nothing.
    if (life.factsList !== list && seen.atMs < life.lastSeenMs) return;
    if (life.isGone && seen.atMs > life.lastSeenMs) this.#markPresent(life);
    const isFirst = life.moments.length === 0 && life.facts === facts;
    this.#momentsDropped += note(
      life,
      momentsBetween(isFirst ? undefined : life.facts, facts, seen),
    );
    for (const address of facts.addresses) this.#index(address, life);
    if (!isFirst) noteMove(life, facts, seen);
    life.facts = facts;
    this.#byLabel.clear();
    life.factsList = list;
    life.lastSeenMs = Math.max(life.lastSeenMs, seen.atMs);
    this.#weigh(life);
  }

  isGone(uid: string): boolean {
    return this.#lives.get(uid)?.isGone ?? false;
  }

  gone(uid: string, seen: Seen): void {
    const life = this.#lives.get(uid);
    if (life !== undefined) this.#markDeleted(life, seen);
  }

  /** A list was whole: pods that neither it nor anything later named are gone by then. */
  listed(cluster: string, namespace: string | undefined, list: number, seen: Seen): void {
    const present = this.#present.get(cluster);
    const places = namespace === undefined ? present?.values() : [present?.get(namespace) ?? []];
    for (const place of places ?? []) {
      for (const life of place) {
        if (life.lastList >= list) continue;
        // Another recording, of a later time, may have been read before.
        if (life.lastSeenMs > seen.atMs) continue;
        this.#markDeleted(life, { ...seen, afterMs: seen.afterMs ?? life.lastSeenMs });
      }
    }
  }

  /** Those that may have had the address by then, whether they still have it or not. */
  at(address: string, instant: Span): readonly PodHistory[] {
    return (this.#byAddress.get(address) ?? []).filter((life) => appearedMs(life) <= instant.toMs);
  }

  /** The only pod that ever had the address; undefined when there are none or several. */
  onlyAt(address: string): PodHistory | undefined {
    const lives = this.#byAddress.get(address) ?? [];
    return lives.length === 1 ? lives[0] : undefined;
  }

  /** The first pod that had the address at all, ever. */
  everAt(address: string): PodHistory | undefined {
    return this.#byAddress.get(address)?.[0];
  }

  byUid(uid: string): PodHistory | undefined {
    return this.#lives.get(uid);
  }

  /** Every pod that ever was there and has these labels. */
  selected(place: NamespacePlace, selector: StringMap): readonly PodHistory[] {
    const key = placeKey(place);
    const there = this.#byPlace.get(key);
    return there === undefined ? [] : this.#byLabel.selected(key, there, selector);
  }

  #add(cluster: string, facts: PodFacts): KnownLife {
    const life: KnownLife = {
      cluster,
      facts,
      moments: [],
      forgottenUntilMs: -Infinity,
      weight: 0,
      moved: nowhere,
      lastList: 0,
      factsList: 0,
      lastSeenMs: -Infinity,
      isGone: false,
    };
    this.#lives.set(facts.uid, life);
    const key = placeKey(placeOf(life));
    const there = this.#byPlace.get(key) ?? new Set();
    this.#byPlace.set(key, there.add(life));
    this.#presentAt(life).add(life);
    return life;
  }

  #presentAt({ cluster, facts }: KnownLife): Set<KnownLife> {
    const places = this.#present.get(cluster) ?? new Map<string, Set<KnownLife>>();
    this.#present.set(cluster, places);
    const lives = places.get(facts.namespace) ?? new Set<KnownLife>();
    places.set(facts.namespace, lives);
    return lives;
  }

  #markDeleted(life: KnownLife, seen: Seen): void {
    markDeleted(life, seen);
    this.#leave(life);
  }

  #leave(life: KnownLife): void {
    const places = this.#present.get(life.cluster);
    const there = places?.get(life.facts.namespace);
    there?.delete(life);
    if (there?.size === 0) places?.delete(life.facts.namespace);
    if (places?.size === 0) this.#present.delete(life.cluster);
  }

  /** A list that was taken for whole lacked it, such as one of a few names: no pod comes back. */
  #markPresent(life: KnownLife): void {
    life.isGone = false;
    life.moments = life.moments.filter(isNotDeletion);
    this.#presentAt(life).add(life);
  }

  #weigh(life: KnownLife): void {
    const weight = weightOf(life);
    this.#weight += weight - life.weight;
    life.weight = weight;
    while (this.#weight > this.#livesMax && this.#lives.size > 1) this.#forgetOldest();
  }

  #index(address: string, life: KnownLife): void {
    const lives = this.#byAddress.get(address);
    if (lives === undefined) this.#byAddress.set(address, [life]);
    else if (!lives.includes(life)) {
      lives.push(life);
      const [oldest] = lives;
      if (lives.length > livesPerAddressMax && oldest !== undefined) this.#forget(oldest);
    }
  }

  #forgetOldest(): void {
    this.#oldest ??= this.#lives.entries();
    const { value, done } = this.#oldest.next();
    if (done === true) return;
    const [, life] = value;
    this.#forget(life);
  }

  #forget(life: KnownLife): void {
    this.#dropped += 1;
    this.#weight -= life.weight;
    this.#lives.delete(life.facts.uid);
    this.#leave(life);
    const place = placeKey(placeOf(life));
    const there = this.#byPlace.get(place);
    there?.delete(life);
    if (there?.size === 0) this.#byPlace.delete(place);
    this.#byLabel.clear();
    for (const address of [...life.facts.addresses, ...life.moved.keys()]) {
      const others = (this.#byAddress.get(address) ?? []).filter((one) => one !== life);
      if (others.length === 0) this.#byAddress.delete(address);
      else this.#byAddress.set(address, others);
    }
  }
}

export function placeOf({ cluster, facts }: PodHistory): NamespacePlace {
  return { cluster, namespace: facts.namespace };
}

function markDeleted(life: KnownLife, seen: Seen): void {
  if (life.isGone) return;
  life.isGone = true;
  life.lastSeenMs = Math.max(life.lastSeenMs, seen.atMs);
  const went = wentAt(seen);
  const asked = life.moments.findLast(({ what }) => what === "terminating");
  // A pod cannot go before its deletion is requested.
  const fromMs = Math.min(Math.max(went.fromMs, asked?.at.fromMs ?? went.fromMs), went.toMs);
  const at = { fromMs, toMs: went.toMs };
  note(life, [{ what: "deleted", at, shownMs: shownMs(at, seen) }]);
}

/**
 * Drops the older half of too many moments, except the last of each kind in it: the state stays
 * known. Returns the number of dropped moments.
 */
function note(life: KnownLife, moments: readonly Moment[]): number {
  life.moments.push(...moments);
  if (life.moments.length <= momentsMax) return 0;
  const older = life.moments.slice(0, -momentsMax / 2);
  const lastOfKind = new Set(new Map(older.map((one) => [one.what, one])).values());
  const forgotten = older.filter((one) => !lastOfKind.has(one));
  life.moments = [
    ...older.filter((one) => lastOfKind.has(one)),
    ...life.moments.slice(-momentsMax / 2),
  ];
  const untilMs = forgotten.reduce((ms, { at }) => Math.max(ms, at.toMs), -Infinity);
  life.forgottenUntilMs = Math.max(life.forgottenUntilMs, untilMs);
  return forgotten.length;
}

function weightOf({ facts, moments }: KnownLife): number {
  const labels = Object.entries(facts.labels);
  const labelsBytes = labels.reduce(
    (sum, [name, value]) => sum + labelBytes + name.length + value.length,
    0,
  );
  const bytes =
    labelsBytes + facts.containers.length * containerBytes + moments.length * momentBytes;
  return Math.max(1, Math.floor(bytes / lifeBytes));
}

/** Shared by all that never moved, which are nearly all. */
const nowhere: ReadonlyMap<string, Moment> = new Map();

/** Without an address it may get the same again. */
function noteMove(life: KnownLife, { addresses }: PodFacts, seen: Seen): void {
  const lost = life.facts.addresses.filter((address) => !addresses.includes(address));
  if (addresses.length === 0 || (lost.length === 0 && life.moved.size === 0)) return;
  const at = wentAt(seen);
  const moment: Moment = { what: "moved", at, shownMs: shownMs(at, seen) };
  const moved = [...life.moved, ...lost.map((address) => [address, moment] as const)];
  life.moved = new Map(moved.filter(([address]) => !addresses.includes(address)));
}

function isNotDeletion({ what }: Moment): boolean {
  return what !== "deleted";
}

function appearedMs({ moments }: PodHistory): number {
  return moments.find(({ what }) => what === "appeared")?.at.fromMs ?? Infinity;
}
