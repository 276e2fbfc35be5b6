// Reads a Lockstep replica by its status listener: once its routes (/state), then the time of each
// change from the replica's own journal (/routed). The two clocks differ: the journal has the age
// of each entry, and the reader knows when the answer was sent. If the journal has dropped entries,
// or the replica was restarted, the state is read again, and the differences happened in between.
import { elapsedMs, type MonotonicMs, monotonicAfter } from "../../environment/clock.ts";
import type { RoutedEndpoint, RoutedWitness } from "../routed-witness.ts";
import {
  type JournalAnswer,
  type JournalEntry,
  type RoutedPorts,
  readJournal,
  readState,
  serviceOfPort,
} from "./lockstep-answers.ts";
import { type AskProxy, jsonOf, type ProxyAnswer } from "./proxy-request.ts";
import type { ProxyReader } from "./proxy-source.ts";
import { SeenPorts } from "./seen-ports.ts";

export interface LockstepReaderOptions {
  /** Asks its status listener. */
  readonly ask: AskProxy;
  readonly witness: RoutedWitness;
  /** The clusters' names here; where the replica has another name, its endpoints go by the pod. */
  readonly clusters: ReadonlySet<string>;
}

/** Answers no entry, only where the journal stands. */
export const afterAll = Number.MAX_SAFE_INTEGER;

export function journalPath(after: number): (base: string) => string {
  return (base) => `${base}/routed?after=${after}`;
}

/** An answer that took longer leaves open by so much when a change was routed. */
const exactEnoughMs = 50;

/** The journal's answer, and the instants between which it was made. */
type TimedJournal = Pick<ProxyAnswer, "sentAt" | "receivedAt"> & {
  readonly journal: JournalAnswer;
};

/** By their names. */
type Endpoints = Map<string, RoutedEndpoint>;

/** By service, then by port. */
type RoutedServices = Map<string, Map<string, Endpoints>>;

export class LockstepReader implements ProxyReader {
  readonly #options: LockstepReaderOptions;
  /** The journal, how far it has been read, and when it was asked. */
  #place: Pick<JournalAnswer, "journal" | "last"> | undefined;
  #askedAt: MonotonicMs | undefined;
  #routed: RoutedServices = new Map();
  /** Of the same services and ports. */
  readonly #seenPorts = new SeenPorts();
  readonly kind = "lockstep";
  readonly ambiguous: readonly string[] = [];

  constructor(options: LockstepReaderOptions) {
    this.#options = options;
  }

  async read(signal: AbortSignal): Promise<void> {
    const reply = await this.#askJournal(signal);
    const { journal } = reply;
    if (this.#place === undefined || hasGap(this.#place, journal)) await this.#readState(signal);
    else for (const entry of journal.entries) this.#apply(entry, reply);
    this.#place = journal;
    this.#askedAt = reply.sentAt;
  }

  stop(): void {
    // Readings are reported at once, so nothing is pending.
  }

  async #askJournal(signal: AbortSignal): Promise<TimedJournal> {
    const after = this.#place?.last ?? afterAll;
    const answer = await this.#options.ask(journalPath(after), signal);
    return { ...answer, journal: readJournal(jsonOf(answer)) };
  }

  /**
   * At first it is a state; later, what differs has changed since the journal was last read. The
   * replica's decisions count as routed: a push to its proxy takes milliseconds.
   */
  async #readState(signal: AbortSignal): Promise<void> {
    const { witness } = this.#options;
    const answer = await this.#options.ask((base) => `${base}/state`, signal);
    const { receivedAt: at } = answer;
    const before = this.#routed;
    const ports = readState(jsonOf(answer));
    this.#routed = keyed(ports);
    for (const [port, all] of ports) this.#seenPorts.note(serviceOfPort(port), port, all);
    const services = [...this.#routed.keys()];
    if (this.#askedAt === undefined) {
      witness.began(new Map(services.map((one) => [one, this.#endpointsOf(one)])), at);
      return;
    }
    for (const one of services) witness.routed(one, this.#endpointsOf(one), at, this.#askedAt);
    for (const one of before.keys()) {
      if (!this.#routed.has(one)) witness.dropped(one, at, this.#askedAt);
    }
    for (const port of [...before.values()].flatMap((one) => [...one.keys()])) {
      if (!ports.has(port)) this.#giveUp(port);
    }
  }

  #apply(entry: JournalEntry, { sentAt, receivedAt, journal }: TimedJournal): void {
    const service = serviceOfPort(entry.port);
    const endpoints = portOf(this.#routed, entry.port);
    for (const left of entry.left) endpoints.delete(nameOf(left));
    for (const joined of entry.joined) endpoints.set(nameOf(joined), joined);
    this.#seenPorts.note(service, entry.port, entry.joined);
    if (entry.isUnrouted) removePort(this.#routed, entry.port);
    const agoMs = Math.max(0, journal.nowMs - entry.routedAtMs);
    const at = monotonicAfter(receivedAt, -agoMs);
    const isExact = elapsedMs(sentAt, receivedAt) <= exactEnoughMs;
    const notBefore = isExact ? undefined : monotonicAfter(sentAt, -agoMs);
    const { witness } = this.#options;
    if (this.#routed.has(service)) {
      witness.routed(service, this.#endpointsOf(service), at, notBefore);
    } else witness.dropped(service, at, notBefore);
    if (entry.isUnrouted) this.#giveUp(entry.port);
  }

  /** After the words on its endpoints, which are the last ones there. */
  #giveUp(port: string): void {
    const service = serviceOfPort(port);
    this.#options.witness.gaveUp(service, this.#seenPorts.giveUp(service, port));
  }

  /** Of all ports of the service. */
  #endpointsOf(service: string): readonly RoutedEndpoint[] {
    const { clusters } = this.#options;
    const all: Endpoints = new Map();
    for (const endpoints of this.#routed.get(service)?.values() ?? []) {
      for (const [name, one] of endpoints) {
        const isKnown = one.cluster !== undefined && clusters.has(one.cluster);
        all.set(name, isKnown ? one : { ...one, cluster: undefined });
      }
    }
    return [...all.values()];
  }
}

function hasGap(place: Pick<JournalAnswer, "journal" | "last">, now: JournalAnswer): boolean {
  if (place.journal !== now.journal) return true;
  return now.last > place.last && now.entries[0]?.sequence !== place.last + 1;
}

function keyed(ports: RoutedPorts): RoutedServices {
  const services: RoutedServices = new Map();
  for (const [port, endpoints] of ports) {
    const all = portOf(services, port);
    for (const one of endpoints) all.set(nameOf(one), one);
  }
  return services;
}

/** The endpoints of the port, which is added if need be. */
function portOf(services: RoutedServices, port: string): Endpoints {
  const service = serviceOfPort(port);
  const ports = services.get(service) ?? new Map<string, Endpoints>();
  services.set(service, ports);
  const endpoints: Endpoints = ports.get(port) ?? new Map<string, RoutedEndpoint>();
  ports.set(port, endpoints);
  return endpoints;
}

/** With its service, if that has no other. */
function removePort(services: RoutedServices, port: string): void {
  const service = serviceOfPort(port);
  const ports = services.get(service);
  ports?.delete(port);
  if (ports?.size === 0) services.delete(service);
}

function nameOf({ cluster = "", address, port, podUid = "" }: RoutedEndpoint): string {
  return `${cluster} ${address} ${port} ${podUid}`;
}
