// What a watch tells late: after it was cut off, or from a list. It may be half of what happened at
// once, because a list tells object by object, and of a service and its pods two watches tell; and
// what others say of the address meanwhile came after it. Taken for news as it comes it would make
// journeys of nothing. So a late word that shows nothing known is held back until the watch has told
// all, and all else that is said of the address, or sent to it, waits behind it.
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import {
  endpointKey,
  type FollowedService,
  type TrafficReport,
  type UnfollowedService,
  type Witness,
  type WitnessedEndpoint,
  type WitnessReport,
  type WitnessSink,
  witnessId,
} from "../journeys/witness.ts";
import { backoffMaxMs } from "../kube/reflector/backoff.ts";
import { atOnceMs, wordsTakenBack } from "./words-taken-back.ts";

export interface HeldReportsOptions {
  readonly clock: Clock;
  /** Where reports go that are not held back, or no longer. */
  readonly sink: WitnessSink;
  /** Where requests go. */
  readonly onTraffic: (request: TrafficReport) => void;
  /** Whether the reports, of one witness, show changes that are known and that it has yet to show. */
  readonly awaits: (reports: readonly WitnessReport[]) => boolean;
  /** Since when its witness may have been cut off without knowing it; undefined when it was not. */
  readonly missedSince: (report: WitnessReport) => MonotonicMs | undefined;
  /** Whether the rest of what the report is a part of has yet to be told. */
  readonly hasMoreOf: (report: WitnessReport) => boolean;
}

/** What is said of one address and port of a service. */
interface HeldPlace {
  readonly since: MonotonicMs;
  /** Oldest first. */
  readonly reports: HeldReport[];
  /** Sent to the address, as logs have told since. */
  readonly requests: TrafficReport[];
}

interface HeldReport {
  readonly report: WitnessReport;
  readonly missedSince: MonotonicMs | undefined;
}

/** Invariant: some words of the witness on the service are held. */
interface HeldService {
  words: number;
  /** To be unfollowed when none are held any more. */
  readonly unfollowed: Set<UnfollowedService>;
}

/** The watches of a cluster that is back tell within it, one after the other, what has gathered. */
const heldMs = 2_000;

/** One watch waits for the other, which tries again by itself after so long at the latest. */
const heldMaxMs = backoffMaxMs;

/** Of one address; more are told before the words that are held, as if these said nothing new. */
const requestsMax = 1_000;

export class HeldReports implements WitnessSink {
  readonly #options: HeldReportsOptions;
  readonly #places = new Map<string, HeldPlace>();
  /** By address and port, the places there: logs may not name the service. */
  readonly #addresses = new Map<string, Set<HeldPlace>>();
  /** By witness and service. */
  readonly #services = new Map<string, HeldService>();

  constructor(options: HeldReportsOptions) {
    this.#options = options;
  }

  report(report: WitnessReport): void {
    const place = placeKey(report.endpoint);
    this.#releaseIfDue(place);
    const missedSince = this.#options.missedSince(report);
    const isHeld = this.#places.has(place) || this.#isDoubtful(report, missedSince);
    if (isHeld && report.baseline !== true) this.#hold(place, { report, missedSince });
    else this.#options.sink.report(report);
  }

  /** A request was sent, and belongs to whoever had the address by the words that are held. */
  traffic(request: TrafficReport): void {
    const { service } = request;
    const held =
      service === undefined
        ? this.#firstAt(addressKey(request))
        : this.#places.get(placeKey({ ...request, service }));
    if (held !== undefined && held.requests.length < requestsMax) held.requests.push(request);
    else this.#options.onTraffic(request);
  }

  /** Since when words on the address are held back; undefined when none are. */
  since(endpoint: WitnessedEndpoint): MonotonicMs | undefined {
    return this.#places.size === 0 ? undefined : this.#places.get(placeKey(endpoint))?.since;
  }

  follow(witness: Witness, service: FollowedService): void {
    const held = this.#services.get(serviceKey(witness, service.service));
    for (const one of held?.unfollowed ?? []) {
      if (isTakenBack(one, service)) held?.unfollowed.delete(one);
    }
    this.#options.sink.follow(witness, service);
  }

  unfollow(witness: Witness, service: UnfollowedService): void {
    const held = this.#services.get(serviceKey(witness, service.service));
    if (held === undefined) this.#options.sink.unfollow(witness, service);
    else held.unfollowed.add(service);
  }

  /** Time passes without anybody telling: to be called every second or so. */
  look(): void {
    for (const place of this.#places.keys()) this.#releaseIfDue(place);
  }

  /** Nothing more will be told. */
  end(): void {
    for (const place of this.#places.keys()) this.#release(place);
  }

  /** Whether what follows may take it back, or show that it is late. */
  #isDoubtful(report: WitnessReport, missedSince: MonotonicMs | undefined): boolean {
    if (missedSince !== undefined) return true;
    return report.notBefore !== undefined && !this.#areAwaited([report]);
  }

  #releaseIfDue(place: string): void {
    const { clock, hasMoreOf } = this.#options;
    const held = this.#places.get(place);
    if (held === undefined) return;
    const heldForMs = elapsedMs(held.since, clock.monotonicMs());
    const isDue = heldForMs >= heldMs && !held.reports.some(({ report }) => hasMoreOf(report));
    if (isDue || heldForMs >= heldMaxMs) this.#release(place);
  }

  /** In the order in which they were said. */
  #release(place: string): void {
    const { reports: held, requests } = this.#places.get(place) ?? { reports: [], requests: [] };
    this.#forget(place);
    const reports = held.map((one) => lateIfGathered(one, held));
    const dropped = new Set<WitnessReport>();
    const weighed = new Set<string>();
    for (const [index, report] of reports.entries()) {
      const key = wordsKey(report);
      if (!weighed.has(key)) {
        const rest = reports.slice(index).filter((one) => wordsKey(one) === key);
        if (this.#isBeforeAll(rest)) continue;
        if (!this.#areAwaited([report])) {
          weighed.add(key);
          for (const one of wordsTakenBack(rest)) dropped.add(one);
        }
      }
      if (!dropped.has(report)) this.#options.sink.report(report);
    }
    for (const report of reports) this.#releaseService(report);
    // What names no service may be meant for another of which words are held.
    for (const request of requests) this.traffic(request);
  }

  #forget(place: string): void {
    const held = this.#places.get(place);
    const [first] = held?.reports ?? [];
    if (first === undefined) return;
    this.#places.delete(place);
    const address = addressKey(first.report.endpoint);
    const others = this.#addresses.get(address);
    if (held !== undefined) others?.delete(held);
    if (others?.size === 0) this.#addresses.delete(address);
  }

  #firstAt(address: string): HeldPlace | undefined {
    const [first] = this.#addresses.get(address) ?? [];
    return first;
  }

  /**
   * All that is told after it is known, and with it it is not, so this happened before anybody told
   * anything. Who knows nothing but addresses may mean two endpoints, of which one left and the other
   * came.
   */
  #isBeforeAll(words: readonly WitnessReport[]): boolean {
    const [first, ...rest] = words;
    if (first?.notBefore === undefined || rest.length === 0) return false;
    const isByAddress = first.witness.hop === "routed" && first.endpoint.podUid === undefined;
    return !isByAddress && this.#areAwaited(rest) && !this.#areAwaited(words);
  }

  /** What a list tells may be taken back by what it tells next, so it is weighed as a whole. */
  #areAwaited(words: readonly WitnessReport[]): boolean {
    return words.every(({ partOf }) => partOf !== "list") && this.#options.awaits(words);
  }

  #hold(place: string, held: HeldReport): void {
    const { witness, endpoint } = held.report;
    const since = this.#options.clock.monotonicMs();
    const known = this.#places.get(place);
    if (known === undefined) {
      const begun: HeldPlace = { since, reports: [held], requests: [] };
      this.#places.set(place, begun);
      const address = addressKey(endpoint);
      const others = this.#addresses.get(address) ?? new Set();
      this.#addresses.set(address, others.add(begun));
    } else known.reports.push(held);
    const key = serviceKey(witness, endpoint.service);
    const ofService = this.#services.get(key);
    if (ofService === undefined) this.#services.set(key, { words: 1, unfollowed: new Set() });
    else ofService.words += 1;
  }

  #releaseService({ witness, endpoint }: WitnessReport): void {
    const key = serviceKey(witness, endpoint.service);
    const held = this.#services.get(key);
    if (held === undefined) return;
    held.words -= 1;
    if (held.words > 0) return;
    this.#services.delete(key);
    for (const one of held.unfollowed) this.#options.sink.unfollow(witness, one);
  }
}

/** Several words at once of who has left changes out are what had gathered, whatever it knows. */
function lateIfGathered(
  { report, missedSince }: HeldReport,
  all: readonly HeldReport[],
): WitnessReport {
  if (missedSince === undefined) return report;
  const isAtOnce = all.some(
    (one) =>
      one.report !== report &&
      wordsKey(one.report) === wordsKey(report) &&
      Math.abs(elapsedMs(one.report.at, report.at)) < atOnceMs,
  );
  const { notBefore = report.at } = report;
  return isAtOnce && missedSince < notBefore ? { ...report, notBefore: missedSince } : report;
}

/** Whether it is followed again, there and at some of the ports. */
function isTakenBack(unfollowed: UnfollowedService, followed: FollowedService): boolean {
  if (unfollowed.cluster !== followed.cluster) return false;
  return unfollowed.ports?.some((port) => followed.ports?.includes(port) ?? true) ?? true;
}

/** Some know whose the address is, and some do not. */
function placeKey(of: Pick<WitnessedEndpoint, "service" | "address" | "port">): string {
  return `${of.service} ${addressKey(of)}`;
}

function addressKey({ address, port }: Pick<WitnessedEndpoint, "address" | "port">): string {
  return `${address} ${port}`;
}

function wordsKey({ witness, endpoint }: WitnessReport): string {
  return `${witnessId(witness)} ${endpointKey(endpoint)}`;
}

/** Whatever the cluster: a replica follows a name in all of them, and reports on each. */
function serviceKey(witness: Witness, service: string): string {
  return `${witnessId(witness)} ${service}`;
}
