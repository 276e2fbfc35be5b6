// Between the witnesses and the journeys: which endpoint of a source cluster a copy in an access cluster
// stands for. Most copies list the pods' own addresses. Where another address stands for a pod, the pod
// that the copy names tells which; where a service's copies name neither (a gateway, or one address for
// all of a cluster), they cannot be matched: they are kept back, and `synced` is unknown there.
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { Log } from "../environment/log.ts";
import type { Observation, ObservationSink } from "../timeline/observation.ts";
import {
  endpointKey,
  type FollowedService,
  type ServiceRef,
  type UnfollowedService,
  type Witness,
  type WitnessedEndpoint,
  witnessId,
} from "../timeline/witness.ts";

export interface CopyMatchesOptions {
  readonly clock: Clock;
  readonly log: Pick<Log, "info">;
  readonly sink: ObservationSink;
  /** The observed clusters whose own watches can tell what a copy stands for. */
  readonly clusters: ReadonlySet<string>;
  /** The endpoint as a cluster's own watches know it; undefined when they do not. */
  readonly locate: (endpoint: WitnessedEndpoint) => WitnessedEndpoint | undefined;
  /** Whether the watches of some cluster tell of this service, `namespace/name`. */
  readonly isService: (service: string) => boolean;
  /** Whether they tell of endpoints of it, in this cluster or, where none is named, in any. */
  readonly hasEndpoints: (service: ServiceRef) => boolean;
}

/** The copies of one service in one access cluster. */
interface Copies {
  readonly witness: Witness;
  readonly service: ServiceRef;
  /** By endpoint, copies without a known original, as they were reported. */
  readonly unmatched: Map<string, Observation>;
  /** By endpoint, what those with an address of their own stand for. */
  readonly standsFor: Map<string, WitnessedEndpoint>;
  /** Since when there are unmatched ones, and something that they could be matched with. */
  since: MonotonicMs | undefined;
  hasMatched: boolean;
  /** As the witness has it, whose watch may be lost for a while. */
  isFollowed: boolean;
  /** They cannot be matched, so they are not waited for. */
  isGivenUp: boolean;
}

/** A copy comes after what it is a copy of, and watches are seldom so far behind each other. */
const matchWithinMs = 10_000;

/**
 * After this time an unmatched copy is reported as it is. A large cluster's first lists are
 * complete by then, if they may be read.
 */
const judgedWithinMs = 60_000;

/**
 * At 300 bytes each 15 MB. Above that, for example when copies are listed before a large cluster's
 * pods, they are reported at once, and matched when their pods are reported.
 */
const unmatchedMax = 50_000;

export class CopyMatches implements ObservationSink {
  readonly #options: CopyMatchesOptions;
  /** By witness and service. */
  readonly #copies = new Map<string, Copies>();
  /** By service, `namespace/name`, the same. */
  readonly #ofService = new Map<string, Set<Copies>>();
  #unmatched = 0;
  #hasLogged = false;

  constructor(options: CopyMatchesOptions) {
    this.#options = options;
  }

  report(report: Observation): void {
    const { witness, endpoint, direction } = report;
    const copies = this.#copiesOf(witness, endpoint);
    if (copies === undefined) this.#tellOfSource(report);
    else if (direction === "join") this.#joins(copies, report);
    else this.#leaves(copies, report);
  }

  follow(witness: Witness, service: FollowedService): void {
    const copies = this.#copiesOf(witness, service);
    if (copies !== undefined) copies.isFollowed = true;
    if (copies?.isGivenUp !== true) this.#options.sink.follow(witness, service);
  }

  unfollow(witness: Witness, service: UnfollowedService): void {
    this.#options.sink.unfollow(witness, service);
    const key = copiesKey(witness, service);
    const copies = this.#copies.get(key);
    if (copies === undefined) return;
    copies.isFollowed = false;
    // Endpoints that are still listed will be followed again.
    if (copies.unmatched.size + copies.standsFor.size > 0) return;
    this.#copies.delete(key);
    const others = this.#ofService.get(service.service);
    others?.delete(copies);
    if (others?.size === 0) this.#ofService.delete(service.service);
  }

  /** Checks for changes that come with time alone; call it about every second. */
  look(): void {
    if (this.#unmatched === 0) return;
    for (const copies of this.#copies.values()) {
      if (copies.unmatched.size > 0) this.#review(copies);
    }
  }

  /** Undefined for what is no copy, or one of a cluster that is not observed. */
  #copiesOf(witness: Witness, { cluster, service }: ServiceRef): Copies | undefined {
    if (witness.hop !== "synced") return undefined;
    if (cluster !== undefined && !this.#options.clusters.has(cluster)) return undefined;
    const key = copiesKey(witness, { cluster, service });
    const known = this.#copies.get(key);
    if (known !== undefined) return known;
    const copies: Copies = {
      witness,
      service: { cluster, service },
      unmatched: new Map(),
      standsFor: new Map(),
      since: undefined,
      hasMatched: false,
      isFollowed: false,
      isGivenUp: false,
    };
    this.#copies.set(key, copies);
    const others = this.#ofService.get(service) ?? new Set();
    this.#ofService.set(service, others.add(copies));
    return copies;
  }

  /** Earlier reports of its copies that could not be matched then are sent first. */
  #tellOfSource(report: Observation): void {
    if (this.#unmatched > 0 && report.baseline !== true) {
      for (const copies of this.#ofService.get(report.endpoint.service) ?? []) {
        if (!copies.isGivenUp) this.#matchAll(copies);
      }
    }
    this.#options.sink.report(report);
  }

  #joins(copies: Copies, report: Observation): void {
    if (this.#match(copies, report)) return;
    if (this.#unmatched >= unmatchedMax) {
      this.#options.sink.report(report);
      return;
    }
    copies.since ??= this.#options.clock.monotonicMs();
    this.#unmatched += 1;
    copies.unmatched.set(endpointKey(report.endpoint), report);
  }

  #leaves(copies: Copies, report: Observation): void {
    const key = endpointKey(report.endpoint);
    const joined = copies.unmatched.get(key);
    if (joined !== undefined) {
      this.#forget(copies, key);
      // Its joining and leaving are reported late, if they can be matched at all.
      if (!this.#match(copies, joined)) return;
    }
    const endpoint = copies.standsFor.get(key) ?? report.endpoint;
    copies.standsFor.delete(key);
    this.#options.sink.report({ ...report, endpoint });
  }

  /** Tells it on, if it stands for something. */
  #match(copies: Copies, report: Observation): boolean {
    const endpoint = this.#options.locate(report.endpoint);
    if (endpoint === undefined) return false;
    copies.hasMatched = true;
    if (copies.isGivenUp) {
      copies.isGivenUp = false;
      if (copies.isFollowed) this.#options.sink.follow(copies.witness, copies.service);
    }
    if (endpoint !== report.endpoint) {
      copies.standsFor.set(endpointKey(report.endpoint), endpoint);
    }
    this.#options.sink.report({ ...report, endpoint });
    return true;
  }

  #matchAll(copies: Copies): void {
    for (const [key, report] of copies.unmatched) {
      if (this.#match(copies, report)) this.#forget(copies, key);
    }
  }

  #review(copies: Copies): void {
    this.#matchAll(copies);
    const { since, service, hasMatched } = copies;
    if (since === undefined) return;
    const { clock, isService, hasEndpoints } = this.#options;
    const waitedMs = elapsedMs(since, clock.monotonicMs());
    if (!isService(service.service)) {
      // The source cannot be read, so there is nothing to confuse them with.
      if (waitedMs >= judgedWithinMs) this.#tellAsTheyAre(copies);
    } else if (!hasMatched && !hasEndpoints(service)) {
      // They may be of pods that are gone: only beside others does one see that they name none.
      copies.since = clock.monotonicMs();
    } else if (waitedMs >= matchWithinMs) {
      // If other copies have the pods' own addresses, these do too: their pods are gone or not yet
      // reported. Copies that do not name a known cluster may be another cluster's.
      if (!hasMatched) this.#giveUp(copies);
      else if (service.cluster !== undefined) this.#tellAsTheyAre(copies);
    }
  }

  #tellAsTheyAre(copies: Copies): void {
    for (const [key, report] of copies.unmatched) {
      this.#forget(copies, key);
      this.#options.sink.report(report);
    }
  }

  #giveUp(copies: Copies): void {
    const { sink, log } = this.#options;
    const { witness, service } = copies;
    if (copies.isGivenUp) return;
    copies.isGivenUp = true;
    sink.unfollow(witness, service);
    if (this.#hasLogged) return;
    this.#hasLogged = true;
    log.info(
      "copies contain addresses that belong to no pod, so synced times of these services are unknown",
      {
        cluster: witness.name,
        service: service.service,
      },
    );
  }

  #forget(copies: Copies, key: string): void {
    if (copies.unmatched.delete(key)) this.#unmatched -= 1;
    if (copies.unmatched.size === 0) copies.since = undefined;
  }
}

function copiesKey(witness: Witness, { cluster = "", service }: ServiceRef): string {
  return `${witnessId(witness)} ${cluster} ${service}`;
}
