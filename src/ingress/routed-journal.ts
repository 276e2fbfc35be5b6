// When each decision was routed: the times an observer needs for the hop `routed` of this replica.
// A bounded journal with rising numbers, so that a reader can ask for what is new to it.

import type { DecidedEndpoint } from "../decide/decision.ts";
import { isRouted } from "../decide/decision.ts";
import { areRoutedAlike } from "../decide/truth/routed-alike.ts";
import type { ServiceTruth } from "../decide/truth/truth.ts";
import { type Clock, elapsedMs, type MonotonicMs, type WallMs } from "../environment/clock.ts";
import { clusterEndpointId } from "../sources/endpoint-id.ts";
import type { TruthChange } from "./decisions.ts";

export interface RoutedJournalOptions {
  readonly clock: Clock;
  /** Called with every new entry. */
  readonly onRouted: (entry: RoutedEntry) => void;
}

export interface EndpointName {
  readonly cluster: string;
  readonly address: string;
  readonly port: number;
  readonly podUid: string | undefined;
}

export interface RoutedEntry {
  readonly sequence: number;
  readonly service: string;
  readonly version: number;
  /** Endpoints that get requests from now on, and those that no longer do. */
  readonly joined: readonly EndpointName[];
  readonly left: readonly EndpointName[];
  /** No route leads to it any more; a service that only has no endpoints is still routed. */
  readonly unrouted?: true;
  readonly decidedWallMs: WallMs;
  readonly routedWallMs: WallMs;
  /** The same instant on this process's monotonic clock. */
  readonly routedAtMs: MonotonicMs;
  /** From the decision to the proxy's word that it routes by it. */
  readonly lagMs: number;
}

/** An answer for a reader that polls: it can tell whether it has missed entries. */
export interface RoutedAnswer {
  /** Names this journal: a restarted process has another one, which counts from zero. */
  readonly journal: string;
  /** The newest entry's number; 0 when there is none. */
  readonly last: number;
  /** Now on the clock of `routedAtMs`, so that a reader with another clock can tell how long ago. */
  readonly nowMs: MonotonicMs;
  /** Oldest first. If the first is not the one after the number asked for, some were let go. */
  readonly entries: readonly RoutedEntry[];
}

/** At 500 changes a second an observer that asks each second misses none, with room to spare. */
export const maxEntriesKept = 5_000;

/** Decisions that wait for the proxy; while it is away for long, further ones are not written. */
const maxWaiting = 20_000;

/** Of endpoints, in all entries that are kept, and in all that wait: some 20 MB. A decision may have thousands. */
export const maxNamesKept = 100_000;

interface Waiting extends Pick<RoutedEntry, "joined" | "left" | "unrouted" | "decidedWallMs"> {
  readonly version: number;
  readonly decidedAtMs: MonotonicMs;
}

export class RoutedJournal {
  readonly #clock: Clock;
  readonly #onRouted: RoutedJournalOptions["onRouted"];
  readonly #name: string;
  /** By service, its decisions that are not known to be routed, oldest first. */
  readonly #waiting = new Map<string, Waiting[]>();
  #waitingCount = 0;
  #waitingNames = 0;
  #keptNames = 0;
  #entries: RoutedEntry[] = [];
  #sequence = 0;

  constructor(options: RoutedJournalOptions) {
    this.#clock = options.clock;
    this.#onRouted = options.onRouted;
    this.#name = `${this.#clock.wallMs()}-${this.#clock.monotonicMs()}`;
  }

  readonly decided = ({ service, version, before, after }: TruthChange): void => {
    // An observer of this replica has to know its routes, also those without endpoints.
    const isOfRoutes = (before === undefined) !== (after === undefined);
    // The ordinary case, seen without making a name: most decisions only confirm the one before.
    if (before !== undefined && after !== undefined && areRoutedAlike(before, after)) return;
    const [was, is] = [activeOf(before), activeOf(after)];
    const joined = namesOf(is, was);
    const left = namesOf(was, is);
    const names = joined.length + left.length;
    const isNews = isOfRoutes || names > 0;
    if (!isNews || this.#waitingCount >= maxWaiting) return;
    if (this.#waitingNames > 0 && this.#waitingNames + names > maxNamesKept) return;
    this.#waitingNames += names;
    const waiting = this.#waiting.get(service) ?? [];
    waiting.push({
      version,
      joined,
      left,
      ...(after === undefined && { unrouted: true }),
      decidedWallMs: this.#clock.wallMs(),
      decidedAtMs: this.#clock.monotonicMs(),
    });
    this.#waiting.set(service, waiting);
    this.#waitingCount += 1;
  };

  /** The proxy routes this service by this version, and so by all before it. */
  readonly routed = (service: string, version: number, atMs: MonotonicMs): void => {
    const waiting = this.#waiting.get(service) ?? [];
    const rest = waiting.filter((one) => one.version > version);
    for (const one of waiting) {
      if (one.version > version) continue;
      this.#waitingNames -= namesIn(one);
      this.#add(service, one, atMs);
    }
    this.#waitingCount -= waiting.length - rest.length;
    if (rest.length > 0) this.#waiting.set(service, rest);
    else this.#waiting.delete(service);
  };

  /** The entries after this number, oldest first. */
  after(sequence: number): readonly RoutedEntry[] {
    return this.#entries.filter((entry) => entry.sequence > sequence);
  }

  /** The same, for another process. */
  answer(after: number): RoutedAnswer {
    return {
      journal: this.#name,
      last: this.#sequence,
      nowMs: this.#clock.monotonicMs(),
      entries: this.after(after),
    };
  }

  #add(service: string, { decidedAtMs, ...decided }: Waiting, atMs: MonotonicMs): void {
    this.#sequence += 1;
    const entry: RoutedEntry = {
      sequence: this.#sequence,
      service,
      ...decided,
      routedWallMs: this.#clock.wallMs(),
      routedAtMs: atMs,
      lagMs: elapsedMs(decidedAtMs, atMs),
    };
    this.#entries.push(entry);
    this.#onRouted(entry);
    this.#keptNames += namesIn(entry);
    this.#forgetOldest();
  }

  /** The newest stays, however many names it has. */
  #forgetOldest(): void {
    const { length } = this.#entries;
    let beyond = 0;
    while (length - beyond > maxEntriesKept || this.#keptNames > maxNamesKept) {
      const oldest = this.#entries[beyond];
      if (oldest === undefined || beyond === length - 1) break;
      this.#keptNames -= namesIn(oldest);
      beyond += 1;
    }
    if (beyond > 0) this.#entries = this.#entries.slice(beyond);
  }
}

function namesIn({ joined, left }: Pick<RoutedEntry, "joined" | "left">): number {
  return joined.length + left.length;
}

function activeOf(truth: ServiceTruth | undefined): ReadonlyMap<string, DecidedEndpoint> {
  const active = new Map<string, DecidedEndpoint>();
  for (const endpoint of truth?.endpoints ?? []) {
    if (isRouted(endpoint)) active.set(clusterEndpointId(endpoint), endpoint);
  }
  return active;
}

/** Of those that the others lack. There may be thousands, and few differ. */
function namesOf(
  some: ReadonlyMap<string, DecidedEndpoint>,
  others: ReadonlyMap<string, DecidedEndpoint>,
): readonly EndpointName[] {
  const names: EndpointName[] = [];
  for (const [key, endpoint] of some) if (!others.has(key)) names.push(nameOf(endpoint));
  return names;
}

function nameOf({ cluster, address, port, podUid }: DecidedEndpoint): EndpointName {
  return { cluster, address, port, podUid };
}
