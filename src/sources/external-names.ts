// The addresses of services' external names. Only names of routed services are looked up,
// repeatedly, a few at a time. The last good answer stays while the resolver fails, and is marked
// as old. Namespaces take turns, and each has a bounded number of names: those of its oldest
// services. Invariant: a name is in `#known` exactly while a service wants it whose namespace has
// room for it.
import { assertCostly } from "../environment/assert.ts";
import type { Environment } from "../environment/environment.ts";
import type { ResolvedName } from "../environment/names.ts";
import { NetworkError } from "../environment/network.ts";
import type { CancelTimer } from "../environment/timers.ts";
import { splitObjectKey } from "../kube/kinds/kind.ts";
import { OwnerTurns } from "./owner-turns.ts";

export interface ExternalNamesOptions extends Pick<Environment, "timers" | "names" | "log"> {
  /** Called for everyone who wants a name whose answer is another than before. */
  readonly onAnswer: (wanter: string) => void;
}

export interface ExternalAnswer {
  /** In a fixed order; those of the last lookup that succeeded. */
  readonly addresses: readonly string[];
  /** Why the newest lookup failed, in a few words; undefined when it succeeded. */
  readonly failure: string | undefined;
  /** It is not looked up, because its namespace has too many. */
  readonly isBeyond?: true;
}

/** A name is looked up again when its answer ends, and after this time in any case. */
export const lookAgainMs = 30_000;
/** But not sooner than this, for a thousand names whose answers end at once are a burden. */
export const lookAgainAfterMinMs = 5_000;

/** After a failure, which is most often a resolver that restarts; twice as long after the next. */
export const lookAgainAfterFailureMs = 5_000;
const lookAgainAfterFailuresMs = 60_000;

/** Of one lookup. */
export const lookupTimeoutMs = 10_000;

/** Enough that names without an answer do not delay the others. */
const lookupsAtOnce = 200;

/** Of one namespace, so that several namespaces whose names get no answer leave room for others. */
const lookupsPerNamespace = 20;

/** More external names would keep a resolver busy for nothing. */
export const maxNamesPerNamespace = 250;

/** In a namespace that has too many, changes that come together are looked at together. */
const arrangeAfterMs = 100;

const beyond: ExternalAnswer = {
  addresses: [],
  failure:
    `the namespace has more than ${maxNamesPerNamespace} external names; ` +
    "its newest services are ignored",
  isBeyond: true,
};

/** A name that spreads over more addresses than this is a mistake. */
const maxAddresses = 256;

interface Known {
  readonly name: string;
  readonly wanters: Set<string>;
  /** By namespace, how many of the wanters are in it. */
  readonly owners: Map<string, number>;
  /** It waits for its turn in the line of each of its owners. */
  isDue: boolean;
  answer: ExternalAnswer | undefined;
  /** In a row. */
  failures: number;
  cancelNext: CancelTimer | undefined;
}

interface Wanter {
  readonly names: ReadonlySet<string>;
  readonly createdAtMs: number;
}

/** Of one namespace. */
interface Group {
  /** By key of the wanter. */
  readonly wanters: Map<string, Wanter>;
  /** By name, how many of the wanters want it. */
  readonly counts: Map<string, number>;
  /** Names that it has no room for. */
  beyond: ReadonlySet<string>;
  cancelArrange: CancelTimer | undefined;
}

export class ExternalNames {
  readonly #options: ExternalNamesOptions;
  readonly #known = new Map<string, Known>();
  readonly #groups = new Map<string, Group>();
  readonly #turns = new OwnerTurns<Known>({ mostPerOwner: lookupsPerNamespace });
  readonly #underWay = new Set<Promise<void>>();
  readonly #abort = new AbortController();

  constructor(options: ExternalNamesOptions) {
    this.#options = options;
  }

  /**
   * From now on these names are looked up for the wanter, at once and again, and no others. The wanter
   * is in a namespace, as in `namespace/name:port`, and was created then.
   */
  want(wanter: string, names: Iterable<string>, createdAtMs = Number.POSITIVE_INFINITY): void {
    const wanted = new Set(names);
    const namespace = namespaceOf(wanter);
    const group = this.#groups.get(namespace) ?? newGroup();
    const before = group.wanters.get(wanter);
    const isSame =
      wanted.size === (before?.names.size ?? 0) &&
      [...wanted].every((name) => before?.names.has(name)) &&
      (before === undefined || before.createdAtMs === createdAtMs);
    if (isSame || this.#abort.signal.aborted) return;
    this.#groups.set(namespace, group);
    if (wanted.size === 0) group.wanters.delete(wanter);
    else group.wanters.set(wanter, { names: wanted, createdAtMs });
    for (const name of wanted) count(group.counts, name, 1);
    for (const name of before?.names ?? []) {
      count(group.counts, name, -1);
      if (!wanted.has(name)) this.#leave(wanter, name);
    }
    this.#makeRoom(namespace, group, wanter);
    this.#check();
    this.#goOn();
  }

  /** The answer for a service of this namespace; undefined before the first one. */
  answerOf(name: string, namespace: string): ExternalAnswer | undefined {
    const isBeyond = this.#groups.get(namespace)?.beyond.has(name) === true;
    return isBeyond ? beyond : this.#known.get(name)?.answer;
  }

  /** Resolves when nothing of it goes on any more. Idempotent. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error("the names are not wanted any more"));
    for (const { cancelNext } of this.#known.values()) cancelNext?.();
    for (const { cancelArrange } of this.#groups.values()) cancelArrange?.();
    await Promise.all(this.#underWay);
  }

  #makeRoom(namespace: string, group: Group, wanter: string): void {
    const { wanters, counts } = group;
    if (wanters.size === 0) {
      group.cancelArrange?.();
      this.#groups.delete(namespace);
      return;
    }
    if (counts.size <= maxNamesPerNamespace && group.beyond.size === 0) {
      for (const name of wanters.get(wanter)?.names ?? []) this.#add(wanter, name);
      return;
    }
    group.cancelArrange ??= this.#options.timers.after(arrangeAfterMs, () => {
      group.cancelArrange = undefined;
      this.#arrange(group);
      this.#check();
      this.#goOn();
    });
  }

  /** Looks up the names of the oldest services, as many as there is room for. */
  #arrange(group: Group): void {
    const within = new Set<string>();
    const without = new Set<string>();
    const before = group.beyond;
    const oldestFirst = [...group.wanters].sort(
      ([a, { createdAtMs: aAtMs }], [b, { createdAtMs: bAtMs }]) =>
        aAtMs === bAtMs ? (a < b ? -1 : 1) : aAtMs - bAtMs,
    );
    for (const [, { names }] of oldestFirst) {
      for (const name of names) {
        const hasRoom = within.has(name) || within.size < maxNamesPerNamespace;
        (hasRoom ? within : without).add(name);
      }
    }
    group.beyond = without;
    for (const [wanter, { names }] of oldestFirst) {
      for (const name of names) {
        if (without.has(name)) this.#leave(wanter, name);
        else this.#add(wanter, name);
        if (without.has(name) !== before.has(name)) this.#options.onAnswer(wanter);
      }
    }
  }

  #add(wanter: string, name: string): void {
    const known = this.#known.get(name) ?? newName(name);
    this.#known.set(name, known);
    if (known.wanters.has(wanter)) return;
    const namespace = namespaceOf(wanter);
    known.wanters.add(wanter);
    count(known.owners, namespace, 1);
    if (known.isDue) this.#turns.add(known, namespace);
  }

  #leave(wanter: string, name: string): void {
    const known = this.#known.get(name);
    if (known === undefined || !known.wanters.delete(wanter)) return;
    const namespace = namespaceOf(wanter);
    count(known.owners, namespace, -1);
    if (!known.owners.has(namespace)) this.#turns.remove(known, namespace);
    if (known.wanters.size > 0) return;
    known.cancelNext?.();
    this.#known.delete(name);
  }

  #check(): void {
    const size = this.#known.size + this.#groups.size;
    assertCostly(() => this.#isWantedAlone(), "a name is known while it is wanted", size);
    assertCostly(() => this.#isWantedKnown(), "a wanted name is known if there is room", size);
  }

  #isWantedAlone(): boolean {
    const isWanted = (name: string, wanter: string): boolean => {
      const { wanters, beyond: without } = this.#groups.get(namespaceOf(wanter)) ?? newGroup();
      return wanters.get(wanter)?.names.has(name) === true && !without.has(name);
    };
    return [...this.#known].every(
      ([name, { wanters }]) =>
        wanters.size > 0 && [...wanters].every((wanter) => isWanted(name, wanter)),
    );
  }

  /** Not where it is yet to be arranged which names there is room for. */
  #isWantedKnown(): boolean {
    const isKnown = (name: string, wanter: string): boolean =>
      this.#known.get(name)?.wanters.has(wanter) === true;
    return [...this.#groups.values()].every(
      ({ wanters, beyond: without, cancelArrange }) =>
        cancelArrange !== undefined ||
        [...wanters].every(([wanter, { names }]) =>
          [...names].every((name) => without.has(name) || isKnown(name, wanter)),
        ),
    );
  }

  #goOn(): void {
    while (this.#underWay.size < lookupsAtOnce && !this.#abort.signal.aborted) {
      const turn = this.#turns.next();
      if (turn === undefined) return;
      const known = turn.one;
      known.isDue = false;
      for (const owner of known.owners.keys()) this.#turns.remove(known, owner);
      const lookup: Promise<void> = this.#lookUp(known).finally(() => {
        this.#underWay.delete(lookup);
        this.#turns.ended(turn);
        this.#goOn();
      });
      this.#underWay.add(lookup);
    }
  }

  async #lookUp(known: Known): Promise<void> {
    const { timers } = this.#options;
    const { ttlMs, ...answer } = await this.#ask(known);
    if (this.#abort.signal.aborted || this.#known.get(known.name) !== known) return;
    known.failures = answer.failure === undefined ? 0 : known.failures + 1;
    known.cancelNext = timers.after(restAfter(known.failures, ttlMs), () => {
      known.isDue = true;
      for (const owner of known.owners.keys()) this.#turns.add(known, owner);
      this.#goOn();
    });
    const isSame =
      known.answer?.failure === answer.failure &&
      known.answer?.addresses.join() === answer.addresses.join();
    known.answer = answer;
    if (!isSame) for (const wanter of known.wanters) this.#options.onAnswer(wanter);
  }

  async #ask({ name, answer }: Known): Promise<ExternalAnswer & Pick<ResolvedName, "ttlMs">> {
    const { names, timers, log } = this.#options;
    const patience = new AbortController();
    const cancel = timers.after(lookupTimeoutMs, () => patience.abort(new Error("too slow")));
    try {
      const signal = AbortSignal.any([this.#abort.signal, patience.signal]);
      const { addresses, ttlMs } = await names.resolve(name, signal);
      const found = [...new Set(addresses)].sort().slice(0, maxAddresses);
      return { addresses: found, failure: undefined, ttlMs };
    } catch (error) {
      if (!this.#abort.signal.aborted)
        log.debug("cannot resolve an external name", { name, error });
      const failure = inWords(error);
      return { addresses: answer?.addresses ?? [], failure, ttlMs: undefined };
    } finally {
      cancel();
    }
  }
}

function newGroup(): Group {
  return { wanters: new Map(), counts: new Map(), beyond: new Set(), cancelArrange: undefined };
}

function newName(name: string): Known {
  return {
    name,
    wanters: new Set(),
    owners: new Map(),
    isDue: true,
    answer: undefined,
    failures: 0,
    cancelNext: undefined,
  };
}

function count(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const now = (counts.get(key) ?? 0) + change;
  if (now > 0) counts.set(key, now);
  else counts.delete(key);
}

function namespaceOf(wanter: string): string {
  return splitObjectKey(wanter).namespace;
}

function restAfter(failures: number, ttlMs: number | undefined): number {
  if (failures === 0) {
    return Math.min(Math.max(ttlMs ?? lookAgainMs, lookAgainAfterMinMs), lookAgainMs);
  }
  return Math.min(lookAgainAfterFailureMs * 2 ** (failures - 1), lookAgainAfterFailuresMs);
}

function inWords(error: unknown): string {
  const code = error instanceof NetworkError ? error.code : undefined;
  if (code === "UNKNOWN_HOST") return "the name does not exist";
  return code === "ABORTED" ? "the resolver does not answer" : "the resolver fails";
}
