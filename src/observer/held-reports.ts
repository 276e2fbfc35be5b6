// What a watch tells late: after it was cut off, or from a list. It may be of the past, that a pod
// left and came back long after others have told of it; and it may be half of what happened at once,
// because a list tells object by object, and of a service and its pods two watches tell. Taken for
// news that would make journeys of nothing. So a late word that shows no change that is open, or is
// of a list, is held back until the watch has told all, and all else that is said of the address
// waits behind it.
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { JourneyEvent } from "../journeys/journey-event.ts";
import {
  endpointKey,
  type FollowedService,
  type ServiceRef,
  type Witness,
  type WitnessedEndpoint,
  type WitnessReport,
  type WitnessSink,
  witnessId,
} from "../journeys/witness.ts";
import { LastChanges } from "./last-changes.ts";
import { wordsThatCount } from "./words-that-count.ts";

export interface HeldReportsOptions {
  readonly clock: Clock;
  /** Where reports go that are not held back, or no longer. */
  readonly sink: WitnessSink;
  /** Whether the report shows a change that is open and that its witness has yet to show. */
  readonly awaits: (report: WitnessReport) => boolean;
}

/** What one witness says of one endpoint. */
interface HeldWords {
  readonly witness: Witness;
  readonly service: string;
  /** Its first word may be of what others have told since. */
  readonly isPast: boolean;
  /** Oldest first; without those that showed what was open. */
  readonly reports: WitnessReport[];
}

/** Words that are told together. */
type Part = Pick<HeldWords, "isPast" | "reports">;

/** What is said of one address and port of a service. */
interface HeldPlace {
  readonly since: MonotonicMs;
  /** By witness and endpoint, in the order of their first words. */
  readonly words: Map<string, HeldWords>;
}

/** Invariant: some words of the witness on the service are held. */
interface HeldService {
  words: number;
  /** By cluster: to be unfollowed when none are held any more. */
  readonly unfollowed: Map<string, ServiceRef>;
}

/** The watches of a cluster that is back tell within it, one after the other, what has gathered. */
const heldMs = 2_000;

/** Invariant: `#places` is in the order of the instants since when. */
export class HeldReports implements WitnessSink {
  readonly #options: HeldReportsOptions;
  readonly #lastChanges = new LastChanges();
  readonly #places = new Map<string, HeldPlace>();
  /** By witness and service. */
  readonly #services = new Map<string, HeldService>();

  constructor(options: HeldReportsOptions) {
    this.#options = options;
  }

  onEvent(event: JourneyEvent): void {
    if (event.type !== "shown" || event.hop.hop === "traffic") return;
    this.#lastChanges.note(event.journey, this.#options.clock.monotonicMs());
  }

  report(report: WitnessReport): void {
    const { sink, awaits } = this.#options;
    const place = placeKey(report.endpoint);
    this.#releaseIfDue(place);
    const held = this.#places.get(place);
    const words = held?.words.get(wordsKey(report));
    const isFirst = (words?.reports.length ?? 0) === 0;
    const isOpen = isFirst && report.partOf !== "list" && awaits(report);
    const isHeard = report.baseline === true || isOpen;
    if (isHeard && report.notBefore === undefined) sink.report(report);
    else if (held === undefined && !this.#isLate(report)) sink.report(report);
    else {
      const { reports } = words ?? this.#hold(place, report);
      if (isHeard) sink.report(report);
      else reports.push(report);
    }
  }

  follow(witness: Witness, service: FollowedService): void {
    const held = this.#services.get(serviceKey(witness, service.service));
    held?.unfollowed.delete(service.cluster ?? "");
    this.#options.sink.follow(witness, service);
  }

  unfollow(witness: Witness, service: ServiceRef): void {
    const held = this.#services.get(serviceKey(witness, service.service));
    if (held === undefined) this.#options.sink.unfollow(witness, service);
    else held.unfollowed.set(service.cluster ?? "", service);
  }

  /** Time passes without anybody telling: to be called every second or so. */
  look(): void {
    for (const place of this.#places.keys()) if (!this.#releaseIfDue(place)) return;
  }

  /** Nothing more will be told. */
  end(): void {
    for (const place of this.#places.keys()) this.#release(place);
  }

  /** A witness that has not shown what others have is late, though it may not know it. */
  #isLate(report: WitnessReport): boolean {
    return report.notBefore !== undefined || this.#lastChanges.isMissedBy(report);
  }

  #releaseIfDue(place: string): boolean {
    const held = this.#places.get(place);
    const now = this.#options.clock.monotonicMs();
    if (held === undefined || elapsedMs(held.since, now) < heldMs) return false;
    this.#release(place);
    return true;
  }

  /** In the order in which they were said; what was said late counts as a whole. */
  #release(place: string): void {
    const words = [...(this.#places.get(place)?.words.values() ?? [])];
    this.#places.delete(place);
    const parts = words.flatMap((one) => (isInTime(one) ? inParts(one) : [one]));
    for (const part of parts.sort(inOrderOfTime)) this.#tell(part);
    for (const one of words) this.#releaseService(one);
  }

  #tell({ isPast, reports }: Part): void {
    const isPastNow = isPast || reports.some((one) => this.#isPast(one));
    for (const report of wordsThatCount(reports, { isPast: isPastNow })) {
      this.#options.sink.report(report);
    }
  }

  #isPast(report: WitnessReport): boolean {
    return report.notBefore !== undefined && this.#lastChanges.isMissedBy(report);
  }

  #hold(place: string, report: WitnessReport): HeldWords {
    const { witness, endpoint } = report;
    const { service } = endpoint;
    const since = this.#options.clock.monotonicMs();
    const held: HeldPlace = this.#places.get(place) ?? { since, words: new Map() };
    this.#places.set(place, held);
    const words = { witness, service, isPast: this.#lastChanges.isMissedBy(report), reports: [] };
    held.words.set(wordsKey(report), words);
    const key = serviceKey(witness, service);
    const ofService = this.#services.get(key);
    if (ofService === undefined) this.#services.set(key, { words: 1, unfollowed: new Map() });
    else ofService.words += 1;
    return words;
  }

  #releaseService({ witness, service }: HeldWords): void {
    const key = serviceKey(witness, service);
    const held = this.#services.get(key);
    if (held === undefined) return;
    held.words -= 1;
    if (held.words > 0) return;
    this.#services.delete(key);
    for (const one of held.unfollowed.values()) this.#options.sink.unfollow(witness, one);
  }
}

function isInTime({ reports }: HeldWords): boolean {
  return reports.every(({ notBefore }) => notBefore === undefined);
}

function inParts({ isPast, reports }: HeldWords): readonly Part[] {
  return wordsThatCount(reports, { isPast }).map((report) => ({ isPast, reports: [report] }));
}

function inOrderOfTime(a: Part, b: Part): number {
  return (a.reports[0]?.at ?? 0) - (b.reports[0]?.at ?? 0);
}

/** Some know whose the address is, and some do not. */
function placeKey({ service, address, port }: WitnessedEndpoint): string {
  return `${service} ${address} ${port}`;
}

function wordsKey({ witness, endpoint }: WitnessReport): string {
  return `${witnessId(witness)} ${endpointKey(endpoint)}`;
}

/** Whatever the cluster: a replica follows a name in all of them, and reports on each. */
function serviceKey(witness: Witness, service: string): string {
  return `${witnessId(witness)} ${service}`;
}
