// Lags of the last hour for each hop and direction; `routed` has them for each kind of replica too.
// The counts are those of `lockstep watch`: only measured lags, in the same figures.
import { type MonotonicMs, monotonicAfter } from "../environment/clock.ts";
import { isFirstReported } from "../timeline/first-reported.ts";
import { ageMs, type Journey } from "../timeline/journey.ts";
import type { JourneyEvent } from "../timeline/journey-event.ts";
import { measuredLagMs } from "../timeline/lag-bound.ts";
import { RecentLags, type ShownLags } from "../timeline/lag-figures.ts";
import { p99Of } from "../timeline/percentile.ts";
import { type Direction, type Hop, hops } from "../timeline/witness.ts";
import type { LagRow } from "./api.ts";

const hourMinutes = 60;

/** Long enough for some changes, short enough to say how it is now. */
const nowMinutes = 2;

const directions: readonly Direction[] = ["join", "leave"];

interface PlaceLags extends Pick<LagRow, "hop" | "kind" | "direction"> {
  readonly hour: RecentLags;
  /** By cluster: the median of all would hide one late cluster among several. */
  readonly clusters: Map<string | undefined, RecentLags>;
  /** Longest since the last point of the series; undefined without a lag. */
  latestMs: number | undefined;
}

/** How late a hop is at present for the changes of one cluster. */
export interface LatePlace extends Pick<LagRow, "hop" | "kind" | "direction"> {
  /** Null where the changes are of no known cluster. */
  readonly cluster: string | null;
  readonly recent: ShownLags;
  readonly oldestPendingMs: number | null;
}

class Waiting {
  pending = 0;
  readonly #oldestMs = new Map<string | undefined, number>();

  add(cluster: string | undefined, ageMs: number): void {
    this.pending += 1;
    this.#oldestMs.set(cluster, Math.max(ageMs, this.#oldestMs.get(cluster) ?? 0));
  }

  get oldestMs(): number {
    return Math.max(...this.#oldestMs.values());
  }

  oldestOf(cluster: string | undefined): number | null {
    return this.#oldestMs.get(cluster) ?? null;
  }
}

export interface HopLagsOptions {
  /** The kind of a proxy replica: `lockstep`, `stock`. */
  readonly kindOf: (replica: string) => string;
}

export class HopLags {
  readonly #kindOf: (replica: string) => string;
  readonly #places = new Map<string, PlaceLags>();
  /** Changes by the minute of their first event. */
  readonly #began = new RecentLags(hourMinutes);

  constructor({ kindOf }: HopLagsOptions) {
    this.#kindOf = kindOf;
  }

  /** A change was seen for the first time. */
  began(journey: Journey): void {
    this.#began.add(0, journey.origin.at);
  }

  /** Changes of the last hour. */
  changes(now: MonotonicMs): number {
    return this.#began.at(now).count;
  }

  onEvent(event: JourneyEvent): void {
    if (event.type !== "shown") return;
    const { journey } = event;
    const { hop, witness, state } = event.hop;
    const lagMs = isFirstReported(journey, event.hop) ? undefined : measuredLagMs(state);
    if (lagMs === undefined) return;
    const place = this.#placeOf(hop, this.#kind(hop, witness), journey.direction);
    const at = monotonicAfter(journey.origin.at, lagMs);
    place.hour.add(lagMs, at);
    recentOf(place, journey.endpoint.cluster).add(lagMs, at);
    place.latestMs = Math.max(place.latestMs ?? 0, lagMs);
  }

  /** In the order of the hops. */
  rows(pending: Iterable<Journey>, now: MonotonicMs): readonly LagRow[] {
    return this.#sorted(pending, now).map(({ place, waiting }) => {
      const { hop, kind, direction, hour, clusters } = place;
      const lags = hour.at(now);
      const { count } = lags;
      return {
        hop,
        kind,
        direction,
        count,
        p50Ms: lags.quantileMs(0.5) ?? null,
        recentMs: latestMedian(clusters, now),
        p99Ms: p99Of(lags) ?? null,
        maxMs: count === 0 ? null : lags.maxMs,
        oldestPendingMs: waiting?.oldestMs ?? null,
        pending: waiting?.pending ?? 0,
      };
    });
  }

  /** How it is at present in each cluster, in the order of the hops. */
  places(pending: Iterable<Journey>, now: MonotonicMs): readonly LatePlace[] {
    return this.#sorted(pending, now).flatMap(({ place, waiting }) => {
      const { hop, kind, direction, clusters } = place;
      return [...clusters].map(([cluster, recent]): LatePlace => {
        const oldestPendingMs = waiting?.oldestOf(cluster) ?? null;
        const about = { hop, kind, direction, cluster: cluster ?? null };
        return { ...about, recent: recent.at(now), oldestPendingMs };
      });
    });
  }

  /** The longest lag of each place since the last call; null without one. */
  takeLatest(): readonly (Pick<LagRow, "hop" | "kind" | "direction"> & { ms: number | null })[] {
    return [...this.#places.values()].map((place) => {
      const { hop, kind, direction, latestMs } = place;
      place.latestMs = undefined;
      return { hop, kind, direction, ms: latestMs ?? null };
    });
  }

  #sorted(
    pending: Iterable<Journey>,
    now: MonotonicMs,
  ): readonly { readonly place: PlaceLags; readonly waiting: Waiting | undefined }[] {
    const waits = this.#waits(pending, now);
    return [...this.#places]
      .map(([key, place]) => ({ place, waiting: waits.get(key) }))
      .sort(
        ({ place: a }, { place: b }) =>
          hops.indexOf(a.hop) - hops.indexOf(b.hop) ||
          a.kind.localeCompare(b.kind) ||
          directions.indexOf(a.direction) - directions.indexOf(b.direction),
      );
  }

  /** A change counts once for a hop and kind, however many replicas have yet to show it. */
  #waits(pending: Iterable<Journey>, now: MonotonicMs): ReadonlyMap<string, Waiting> {
    const waits = new Map<string, Waiting>();
    for (const journey of pending) {
      if (journey.outcome !== "pending") continue;
      const places = new Set<string>();
      for (const { hop, witness, state } of journey.hops) {
        if (hop === "traffic" || (state.type !== "pending" && state.type !== "stuck")) continue;
        const kind = this.#kind(hop, witness);
        recentOf(this.#placeOf(hop, kind, journey.direction), journey.endpoint.cluster);
        places.add(keyOf(hop, kind, journey.direction));
      }
      const age = Math.max(0, ageMs(journey, now));
      for (const key of places) {
        const waiting = waits.get(key) ?? new Waiting();
        waits.set(key, waiting);
        waiting.add(journey.endpoint.cluster, age);
      }
    }
    return waits;
  }

  #kind(hop: Hop, witness: string): string {
    return hop === "routed" ? this.#kindOf(witness) : "";
  }

  #placeOf(hop: Hop, kind: string, direction: Direction): PlaceLags {
    const key = keyOf(hop, kind, direction);
    const known = this.#places.get(key) ?? {
      hop,
      kind,
      direction,
      hour: new RecentLags(hourMinutes),
      clusters: new Map(),
      latestMs: undefined,
    };
    this.#places.set(key, known);
    return known;
  }
}

/** A cluster stays, as a place does: there are a few of them. */
function recentOf({ clusters }: PlaceLags, cluster: string | undefined): RecentLags {
  const known = clusters.get(cluster) ?? new RecentLags(nowMinutes);
  clusters.set(cluster, known);
  return known;
}

/** Of the cluster where it is greatest. */
function latestMedian(clusters: PlaceLags["clusters"], now: MonotonicMs): number | null {
  const medians = [...clusters.values()].flatMap((one) => one.at(now).quantileMs(0.5) ?? []);
  return medians.length === 0 ? null : Math.max(...medians);
}

function keyOf(hop: Hop, kind: string, direction: Direction): string {
  return `${hop} ${kind} ${direction}`;
}
