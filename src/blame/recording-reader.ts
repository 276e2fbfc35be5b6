// Adds the lines of a recording to the evidence. Several recordings, and several runs in one, are
// read one after the other; changes between the end of a run and the lists of the next become one
// change at an unknown moment in between.
import type { RawRecord } from "../kube/kinds/fields.ts";
import { metadataText } from "../recording/metadata-text.ts";
import type { RecordedKindName } from "../recording/recorded-kinds.ts";
import {
  parseRecordingLine,
  type RecordedChange,
  type RecordingLine,
  refuseLaterVersion,
} from "../recording/recording-line.ts";
import {
  type Coverage,
  type CoveredPlace,
  knownBeforeMs,
  placeKey,
  placesMax,
} from "./coverage.ts";
import type { Evidence } from "./evidence.ts";
import type { Seen } from "./pod-life.ts";

export interface RecordingCounts {
  readonly lines: number;
  readonly runs: number;
  /** Torn or foreign lines. */
  readonly unreadable: number;
}

/** One of each kind in each place. */
const listsMax = 5 * placesMax;

/** Namespaces of one run; when there are more, what is known of them is looked up again. */
const knownPlacesMax = 100_000;

export class RecordingReader {
  readonly #evidence: Evidence;
  readonly #counts = { lines: 0, runs: 0, unreadable: 0 };
  /**
   * Of the run that is being read, by cluster and namespace; present from the end of its list of pods
   * on, and undefined while a watch is behind.
   */
  readonly #covered = new Map<string, Map<CoveredPlace["namespace"], Coverage | undefined>>();
  /** The coverage of the current run; all other coverage is of earlier runs. */
  #own = new WeakSet<Coverage>();
  /** Until when they knew a place, by `placeKey`. */
  readonly #knownBeforeMs = new Map<string, number | undefined>();
  /** Complete lists of this run, by `listKey`. */
  readonly #listed = new Set<string>();
  #list = 0;

  constructor(evidence: Evidence) {
    this.#evidence = evidence;
  }

  get counts(): RecordingCounts {
    return { ...this.#counts };
  }

  /** Throws `RecordingVersionError` for a run that it cannot understand. */
  read(text: string): void {
    // A run that follows a killed one begins a line of its own.
    if (text === "") return;
    this.#counts.lines += 1;
    const line = parseRecordingLine(text);
    if (line === undefined) this.#counts.unreadable += 1;
    else this.#take(line);
  }

  #take(line: RecordingLine): void {
    // These lines are only for a replay and have nothing about pods.
    if (line.type === "input") return;
    const { atMs } = line;
    switch (line.type) {
      case "run":
        this.#begin(line.version);
        break;
      case "listed": {
        const { cluster, kind, namespace } = line;
        // The first list of a run is whole once; a line that says so again means nothing.
        const key = listKey(cluster, kind, namespace ?? "");
        if (this.#listed.has(key) || this.#listed.size >= listsMax) break;
        const seen = this.#seenInList({ cluster, namespace }, atMs);
        this.#listed.add(key);
        const place = { cluster, kind, ...(namespace !== undefined && { namespace }) };
        this.#evidence.endList(place, this.#list, seen);
        if (kind === "Pod") this.#beginCovering({ cluster, namespace }, atMs);
        break;
      }
      case "alive":
        this.#alive(line.behind, atMs);
        break;
      case "change":
        this.#change(line);
        break;
    }
  }

  #beginCovering(place: CoveredPlace, atMs: number): void {
    const { cluster, namespace } = place;
    const there = this.#covered.get(cluster) ?? new Map();
    this.#covered.set(cluster, there);
    if (there.has(namespace)) return;
    const coverage = this.#cover(place, atMs);
    // Each sign of life goes through all of them; those beyond the limit are no coverage anyway.
    if (there.size < placesMax) there.set(namespace, coverage);
  }

  #cover(place: CoveredPlace, atMs: number): Coverage {
    const coverage = this.#evidence.cover(place, atMs);
    this.#own.add(coverage);
    return coverage;
  }

  /** After a time of which not everything was seen another one begins. */
  #alive(behind: readonly string[], atMs: number): void {
    for (const [cluster, there] of this.#covered) {
      const isBehind = behind.some((watch) => watch.startsWith(`${cluster} `));
      for (const [namespace, known] of there) {
        const coverage = isBehind
          ? undefined
          : (known ?? this.#cover({ cluster, namespace }, atMs));
        there.set(namespace, coverage);
      }
    }
    for (const cluster of this.#covered.keys()) this.#coverUntil(cluster, atMs);
  }

  #coverUntil(cluster: string, atMs: number): void {
    for (const coverage of this.#covered.get(cluster)?.values() ?? []) {
      if (coverage !== undefined) coverage.toMs = Math.max(coverage.toMs, atMs);
    }
  }

  #begin(version: number): void {
    refuseLaterVersion(version);
    this.#counts.runs += 1;
    this.#own = new WeakSet();
    this.#covered.clear();
    this.#listed.clear();
    this.#knownBeforeMs.clear();
    this.#list = this.#evidence.beginList();
  }

  #change({ cluster, kind, change, by, atMs, afterMs, object }: RecordedChange): void {
    const isWatched = by === "watch" && afterMs === undefined;
    const namespace = metadataText(object, "namespace") || undefined;
    const inFirstList = this.#seenInList({ cluster, namespace }, atMs);
    const isFirstList = by === "list" && !this.#isListed(cluster, kind, object);
    const seen = isFirstList ? inFirstList : { atMs, isWatched, afterMs };
    this.#evidence.add({ cluster, kind, isDeleted: change === "deleted", object, seen });
    this.#coverUntil(cluster, atMs);
  }

  /**
   * A change in the first list of a run happened after the last certain time of the runs before.
   */
  #seenInList(place: CoveredPlace, atMs: number): Seen {
    const key = placeKey(place);
    if (this.#knownBeforeMs.size >= knownPlacesMax) this.#knownBeforeMs.clear();
    if (!this.#knownBeforeMs.has(key)) {
      const earlier = this.#evidence.coverage.filter((one) => !this.#own.has(one));
      this.#knownBeforeMs.set(key, knownBeforeMs(earlier, place, atMs));
    }
    return { atMs, isWatched: false, afterMs: this.#knownBeforeMs.get(key) };
  }

  /** The lists of a run come one after the other, each in its own time. */
  #isListed(cluster: string, kind: RecordedKindName, object: RawRecord): boolean {
    const places = ["", metadataText(object, "namespace")];
    return places.some((place) => this.#listed.has(listKey(cluster, kind, place)));
  }
}

/** Of one namespace where only that is recorded. */
function listKey(cluster: string, kind: RecordedKindName, namespace: string): string {
  return `${cluster} ${kind} ${namespace}`;
}
