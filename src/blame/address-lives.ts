// Who had an address when: the lives of all pods that the evidence shows, by address and by uid. An
// address passes from pod to pod, so the question is always about an instant. Bounded: beyond the
// limit the pods heard of first are forgotten, and counted.
import type { StringMap } from "../kube/kinds/intern.ts";
import { type NamespacePlace, placeKey } from "./coverage.ts";
import { LivesByLabel } from "./lives-by-label.ts";
import type { PodFacts } from "./pod-facts.ts";
import { type Moment, momentsBetween, type Seen, shownMs, wentAt } from "./pod-life.ts";
import type { Span } from "./span.ts";

export interface PodLife {
  readonly cluster: string;
  /** As it was last seen. */
  readonly facts: PodFacts;
  /** In the order in which they became known. */
  readonly moments: readonly Moment[];
  /** When it got another address in place of each that it had before. */
  readonly moved: ReadonlyMap<string, Moment>;
  /** The API has it no more, as far as is known. */
  readonly isGone: boolean;
}

interface KnownLife extends PodLife {
  facts: PodFacts;
  readonly moments: Moment[];
  moved: ReadonlyMap<string, Moment>;
  /** The last list that named it, by number; what a whole list did not name is gone. */
  lastList: number;
  /** The list that the facts came with or after, and when. */
  factsList: number;
  lastSeenMs: number;
  isGone: boolean;
}

/** At some 1 kB each half a GB: a month of a cluster with ten thousand new pods a day. */
const defaultLivesMax = 500_000;

export class AddressLives {
  readonly #livesMax: number;
  /** By uid, in the order in which they were first heard of. */
  readonly #lives = new Map<string, KnownLife>();
  /** Those that are to be forgotten next, once that has begun; it passes over what is gone. */
  #oldest: Iterator<readonly [uid: string, life: KnownLife]> | undefined;
  readonly #byAddress = new Map<string, KnownLife[]>();
  /** By `placeKey`. */
  readonly #byPlace = new Map<string, Set<KnownLife>>();
  readonly #byLabel = new LivesByLabel();
  #dropped = 0;

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

  /** A version of a pod; `list` is the list it came with, or the last one before it. */
  see(cluster: string, facts: PodFacts, seen: Seen, list: number): void {
    const life = this.#lives.get(facts.uid) ?? this.#add(cluster, facts);
    life.lastList = list;
    // Of two who recorded at the same time the second tells again what is known.
    if (life.factsList !== list && seen.atMs < life.lastSeenMs) return;
    if (life.isGone && seen.atMs > life.lastSeenMs) unbury(life);
    const isFirst = life.moments.length === 0 && life.facts === facts;
    life.moments.push(...momentsBetween(isFirst ? undefined : life.facts, facts, seen));
    for (const address of facts.addresses) this.#index(address, life);
    if (!isFirst) noteMove(life, facts, seen);
    life.facts = facts;
    this.#byLabel.clear();
    life.factsList = list;
    life.lastSeenMs = Math.max(life.lastSeenMs, seen.atMs);
  }

  isGone(uid: string): boolean {
    return this.#lives.get(uid)?.isGone ?? false;
  }

  gone(uid: string, seen: Seen): void {
    const life = this.#lives.get(uid);
    if (life !== undefined) bury(life, seen);
  }

  /** A list was whole: pods that neither it nor anything later named are gone by then. */
  listed(cluster: string, namespace: string | undefined, list: number, seen: Seen): void {
    const there =
      namespace === undefined
        ? this.#lives.values()
        : (this.#byPlace.get(placeKey({ cluster, namespace })) ?? []);
    for (const life of there) {
      if (life.cluster !== cluster || life.lastList >= list) continue;
      // Another recording, of a later time, may have been read before.
      if (life.lastSeenMs > seen.atMs) continue;
      bury(life, { ...seen, afterMs: seen.afterMs ?? life.lastSeenMs });
    }
  }

  /** Those that may have had the address by then, whether they still have it or not. */
  at(address: string, instant: Span): readonly PodLife[] {
    return (this.#byAddress.get(address) ?? []).filter((life) => appearedMs(life) <= instant.toMs);
  }

  /** The only pod that ever had the address; undefined when there are none or several. */
  onlyAt(address: string): PodLife | undefined {
    const lives = this.#byAddress.get(address) ?? [];
    return lives.length === 1 ? lives[0] : undefined;
  }

  /** The first pod that had the address at all, ever. */
  everAt(address: string): PodLife | undefined {
    return this.#byAddress.get(address)?.[0];
  }

  byUid(uid: string): PodLife | undefined {
    return this.#lives.get(uid);
  }

  /** Every pod that ever was there and has these labels. */
  selected(place: NamespacePlace, selector: StringMap): readonly PodLife[] {
    const key = placeKey(place);
    const there = this.#byPlace.get(key);
    return there === undefined ? [] : this.#byLabel.selected(key, there, selector);
  }

  #add(cluster: string, facts: PodFacts): KnownLife {
    const life: KnownLife = {
      cluster,
      facts,
      moments: [],
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
    if (this.#lives.size > this.#livesMax) this.#forgetOldest();
    return life;
  }

  #index(address: string, life: KnownLife): void {
    const lives = this.#byAddress.get(address);
    if (lives === undefined) this.#byAddress.set(address, [life]);
    else if (!lives.includes(life)) lives.push(life);
  }

  #forgetOldest(): void {
    this.#oldest ??= this.#lives.entries();
    const { value, done } = this.#oldest.next();
    if (done === true) return;
    const [uid, life] = value;
    this.#dropped += 1;
    this.#lives.delete(uid);
    this.#byPlace.get(placeKey(placeOf(life)))?.delete(life);
    this.#byLabel.clear();
    for (const address of life.facts.addresses) {
      const others = (this.#byAddress.get(address) ?? []).filter((one) => one !== life);
      if (others.length === 0) this.#byAddress.delete(address);
      else this.#byAddress.set(address, others);
    }
  }
}

/** Where a pod is or was. */
export function placeOf({ cluster, facts }: PodLife): NamespacePlace {
  return { cluster, namespace: facts.namespace };
}

function bury(life: KnownLife, seen: Seen): void {
  if (life.isGone) return;
  life.isGone = true;
  life.lastSeenMs = Math.max(life.lastSeenMs, seen.atMs);
  const went = wentAt(seen);
  const asked = life.moments.findLast(({ what }) => what === "terminating");
  // Nobody deletes a pod before its deletion is asked for.
  const fromMs = Math.min(Math.max(went.fromMs, asked?.at.fromMs ?? went.fromMs), went.toMs);
  const at = { fromMs, toMs: went.toMs };
  life.moments.push({ what: "deleted", at, shownMs: shownMs(at, seen) });
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

/** A list that was taken for whole lacked it, such as one of a few names: no pod comes back. */
function unbury(life: KnownLife): void {
  life.isGone = false;
  life.moments.splice(0, life.moments.length, ...life.moments.filter(isNotDeletion));
}

function isNotDeletion({ what }: Moment): boolean {
  return what !== "deleted";
}

function appearedMs({ moments }: PodLife): number {
  return moments.find(({ what }) => what === "appeared")?.at.fromMs ?? Infinity;
}
