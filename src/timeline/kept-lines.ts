// Which lines are kept: a bounded number. Those of the clusters come first; endpoints that only proxies or
// copies have named have a share, and give it up, the oldest first, where a cluster's endpoint needs it;
// those of which nothing is expected any more go before all others.
import { goneMax, strangersShare } from "./journey-limits.ts";
import type { Line } from "./line.ts";
import type { Place } from "./place.ts";
import type { Standings } from "./standings.ts";
import { isOfCluster, type Witness, type WitnessedEndpoint } from "./witness.ts";

export interface KeptLinesOptions {
  readonly standings: Standings;
  readonly endpointsMax: number;
  /** Whether there is room for changes of endpoints that no cluster knows. */
  readonly canStrangersPend: () => boolean;
  /** No cluster knows the line, and its room is needed. */
  readonly onDismissed: (line: Line) => void;
  readonly onForgotten: (line: Line) => void;
}

export class KeptLines {
  readonly #options: KeptLinesOptions;
  readonly #standings: Standings;
  /** Nothing is expected of them any more; the first one first. */
  readonly #gone = new Set<Line>();
  /** No cluster's own watches have shown them; the first one first. */
  readonly #strangers = new Set<Line>();

  constructor(options: KeptLinesOptions) {
    this.#options = options;
    this.#standings = options.standings;
  }

  isStranger(line: Line): boolean {
    return this.#strangers.has(line);
  }

  /** The line of the endpoint, also a new one; undefined when there is no room. */
  admit(witness: Witness, endpoint: WitnessedEndpoint): Line | undefined {
    const { places } = this.#standings;
    const known = places.at(endpoint)?.find(endpoint);
    const isStranger = !isOfCluster(witness) && !this.#isKnown(endpoint);
    if (known === undefined && !this.#hasRoomFor(witness, isStranger)) return undefined;
    const line = known ?? places.add(endpoint);
    if (line.endpoint.cluster === undefined && endpoint.cluster !== undefined) {
      line.endpoint = { ...line.endpoint, cluster: endpoint.cluster };
    }
    if (isStranger && known === undefined) this.#strangers.add(line);
    if (!isOfCluster(witness)) return line;
    const covering = line.place.coveringOf(line);
    for (const one of [line, ...covering]) this.#strangers.delete(one);
    return line;
  }

  /** Something has changed about it: it may be gone, or needed again. */
  review(place: Place, line: Line, isNeeded: boolean): void {
    if (isNeeded || this.#standings.stateOf(line) === "join") {
      this.#gone.delete(line);
      return;
    }
    const isThere = line.cursors.some(({ direction }) => direction === "join");
    const isUnion = place.coveredBy(line).length > 0 && line.cursors.length > 0;
    if (!isThere && !isUnion) {
      this.#forget(line);
      return;
    }
    // A witness that is cut off may still have it.
    this.#gone.add(line);
    const [oldest] = this.#gone;
    if (this.#gone.size > goneMax && oldest !== undefined) this.#forget(oldest);
  }

  dismiss(line: Line): void {
    this.#options.onDismissed(line);
    this.#forget(line);
  }

  /** Whether a cluster has shown the endpoint, or a pod that has its address. */
  #isKnown(endpoint: WitnessedEndpoint): boolean {
    const { cluster, podUid } = endpoint;
    const pods = podUid === undefined ? (this.#standings.places.at(endpoint)?.pods ?? []) : [];
    return pods.some(
      (line) =>
        !this.#strangers.has(line) && (cluster ?? line.endpoint.cluster) === line.endpoint.cluster,
    );
  }

  /** For an endpoint that the witness is the first to name. */
  #hasRoomFor(witness: Witness, isStranger: boolean): boolean {
    const { endpointsMax, canStrangersPend } = this.#options;
    const { places } = this.#standings;
    if (isStranger) {
      const isRoomy = this.#strangers.size < endpointsMax * strangersShare;
      return isRoomy && canStrangersPend() && places.size < endpointsMax;
    }
    if (isOfCluster(witness) && places.size >= endpointsMax) {
      const [gone] = this.#gone;
      const [stranger] = this.#strangers;
      if (gone !== undefined) this.#forget(gone);
      else if (stranger !== undefined) this.dismiss(stranger);
    }
    return places.size < endpointsMax;
  }

  #forget(line: Line): void {
    const { places } = this.#standings;
    const { place } = line;
    places.remove(line);
    for (const one of place.coveringOf(line)) {
      const isOwn = one.cursors.some(({ witness }) => isOfCluster(witness));
      if (!isOwn && place.coveredBy(one).length === 0) this.#strangers.add(one);
    }
    this.#gone.delete(line);
    this.#strangers.delete(line);
    this.#options.onForgotten(line);
  }
}
