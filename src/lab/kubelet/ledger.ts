// The real state of the pods' addresses, known only to the lab: which pod listened on which
// address, from when to when, on the lab's one monotonic clock. The programs in the pods report
// when they start and stop to accept connections. No controller and no router may read it, only
// judges. Invariant: of one address at most the newest spell is open.
import { assertCostly } from "../../environment/assert.ts";
import type { Clock, MonotonicMs } from "../../environment/clock.ts";

/** One unbroken time of one pod accepting connections on one address. */
export interface Spell {
  readonly podUid: string;
  readonly since: MonotonicMs;
  /** Undefined while it lasts. */
  readonly until: MonotonicMs | undefined;
}

export type AddressTruth =
  | { readonly state: "alive"; readonly podUid: string; readonly since: MonotonicMs }
  /** `lastPodUid` and `since` are of the pod that left; undefined when none is remembered. */
  | {
      readonly state: "dead";
      readonly lastPodUid: string | undefined;
      readonly since: MonotonicMs | undefined;
    };

/** A pod in a crash loop adds one each few minutes: days of it are remembered. */
const spellsPerAddressMax = 1_000;

/** All addresses of one cluster's network; beyond that the one unused for longest is forgotten. */
const addressesMax = 65_536;

export class Ledger {
  readonly #clock: Clock;
  /** Oldest spell first; addresses in the order of their last change. */
  readonly #spells = new Map<string, Spell[]>();

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock;
  }

  /** The pod accepts connections there from now on. */
  began(address: string, podUid: string): void {
    this.ended(address);
    const spells = this.#spells.get(address) ?? [];
    spells.push({ podUid, since: this.#clock.monotonicMs(), until: undefined });
    if (spells.length > spellsPerAddressMax) spells.shift();
    this.#spells.delete(address);
    this.#spells.set(address, spells);
    const isOpen = ({ until }: Spell) => until === undefined;
    const isLastOpen = () => spells.findIndex(isOpen) === spells.length - 1;
    assertCostly(isLastOpen, "only the newest spell of an address is open", spells.length);
    const [oldest] = this.#spells.keys();
    if (this.#spells.size > addressesMax && oldest !== undefined) this.#spells.delete(oldest);
  }

  /** No process accepts connections there any more, or only a pod that began later than this one. */
  ended(address: string, podUid?: string): void {
    const spells = this.#spells.get(address);
    const last = spells?.at(-1);
    if (spells === undefined || last === undefined || last.until !== undefined) return;
    if (podUid !== undefined && last.podUid !== podUid) return;
    spells[spells.length - 1] = { ...last, until: this.#clock.monotonicMs() };
  }

  /** The real state of an address at an instant; an unknown address is dead. */
  at(address: string, instant: MonotonicMs): AddressTruth {
    const spell = this.spells(address).findLast(({ since }) => since <= instant);
    if (spell === undefined) return { state: "dead", lastPodUid: undefined, since: undefined };
    const { podUid, since, until } = spell;
    return until === undefined || instant < until
      ? { state: "alive", podUid, since }
      : { state: "dead", lastPodUid: podUid, since: until };
  }

  aliveAt(address: string, instant: MonotonicMs): boolean {
    return this.at(address, instant).state === "alive";
  }

  /** The uid of the pod that accepted connections there; undefined when none did. */
  ownerAt(address: string, instant: MonotonicMs): string | undefined {
    const truth = this.at(address, instant);
    return truth.state === "alive" ? truth.podUid : undefined;
  }

  /** Oldest first. */
  spells(address: string): readonly Spell[] {
    return this.#spells.get(address) ?? [];
  }
}
