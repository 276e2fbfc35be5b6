// One run of a recording, replayed: the same witnesses and the same fold as beside a cluster, fed
// by lines. It does no IO and waits for nothing; the reader of the lines sets the pace.
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import type { Log } from "../environment/log.ts";
import { isRecord, MalformedObjectError, type RawRecord } from "../kube/kinds/fields.ts";
import type { Projected } from "../kube/kinds/kind.ts";
import {
  type ClusterStanding,
  type ClusterState,
  type ClusterStatus,
  clusterStatus,
  type ObservedResource,
} from "../observe/cluster-status.ts";
import { ClusterWitnesses } from "../observe/cluster-witnesses.ts";
import { copyOrigin } from "../observe/copy-origin.ts";
import type { OpenWatch } from "../observe/observed-watch.ts";
import { ObserverCore } from "../observe/observer-core.ts";
import type { RoutedWitness } from "../observe/routed-witness.ts";
import { type ServiceBounds, watchedNamespaces } from "../observe/service-filter.ts";
import { TrafficWitness } from "../observe/traffic/traffic-witness.ts";
import type { PublishedForm } from "../sources/published-form.ts";
import type { JourneyEvent } from "../timeline/journey-event.ts";
import type { ObserverRun } from "../timeline/journey-record.ts";
import { metadataText } from "./metadata-text.ts";
import type { RecordedInput } from "./recorded-input.ts";
import { type RecordedKindName, recordedKinds } from "./recorded-kinds.ts";
import type { RecordedChange, RecordingLine } from "./recording-line.ts";
import type { RecordingSurvey } from "./recording-survey.ts";
import { ReplayClock } from "./replay-clock.ts";
import { type ReplayedChange, ReplayedWatch } from "./replayed-watch.ts";
import type { WatchedRun } from "./watched-run.ts";

export type RunHeader = Extract<RecordingLine, { readonly type: "run" }>;

export interface ReplayedRunOptions {
  readonly header: RunHeader;
  /** Of the whole file, for a run that does not say which clusters it observed. */
  readonly survey: RecordingSurvey;
  /** Only these are shown, of what was recorded; all when empty. */
  readonly bounds?: ServiceBounds;
  readonly log: Pick<Log, "info">;
  readonly onEvent: (event: JourneyEvent) => void;
}

/** How often an observer looks; a recording without looks of its own is looked at as often. */
const lookEveryMs = 1_000;

/** The observer's names of the kinds. */
const resourceOf: Readonly<Record<RecordedKindName, ObservedResource>> = {
  Pod: "pods",
  Service: "services",
  EndpointSlice: "endpointslices",
  Endpoints: "endpoints",
  Node: "nodes",
};

export class ReplayedRun {
  readonly #onEvent: (event: JourneyEvent) => void;
  readonly #startMs: number;
  readonly #core: ObserverCore;
  readonly #clusters: readonly ReplayedCluster[];
  readonly #replicas = new Map<string, RoutedWitness>();
  readonly #logs = new Map<string, TrafficWitness>();
  readonly clock: ReplayClock;
  readonly run: ObserverRun;
  /** The run's settings: clusters and filters. */
  readonly watched: WatchedRun;
  /** Whether it has the looks of an observer; older versions of `lockstep record` wrote none. */
  readonly hasTicks: boolean;
  /** Version 1 kept no ports of services, so endpoints differ in their addresses only. */
  readonly #hasPorts: boolean;
  #notes: readonly string[] = [];
  #malformed = 0;
  /** When a recording without looks is to be looked at; and when any was last looked at. */
  #lookAt: number;
  #lookedAt = -Infinity;
  /** In a file that continues this run: known objects are repeated until it marks the end. */
  #isRepeating = false;

  constructor({ header, survey, bounds: shown, log, onEvent }: ReplayedRunOptions) {
    this.#onEvent = onEvent;
    const { run: name, watched, atMs } = header;
    this.#startMs = atMs;
    this.#hasPorts = header.version > 1;
    this.hasTicks = watched !== undefined;
    this.watched = watched ?? survey.watchedRun(atMs);
    const { monotonicMs, wallMs, clusters, namespaces, services, nodes } = this.watched;
    this.run = { name, monotonicMs: monotonicMs as MonotonicMs, wallMs: wallMs as WallMs };
    this.clock = new ReplayClock(this.watched);
    this.#lookAt = monotonicMs + lookEveryMs;
    const business = clusters.filter(({ isBusiness }) => isBusiness);
    const bounds = { namespaces, services };
    this.#core = new ObserverCore({
      ...bounds,
      ...shown,
      clock: this.clock,
      log,
      run: this.run,
      onEvent: (event) => this.#event(event),
      clusters: business.map(({ cluster }) => cluster),
      watermark: (cluster, hop, service) => this.#cluster(cluster)?.watermark(hop, service),
    });
    const inNamespaces = watchedNamespaces(bounds);
    this.#clusters = clusters.map((one) => {
      const { cluster, isBusiness, isAccess } = one;
      return new ReplayedCluster({
        cluster,
        clock: this.clock,
        isBusiness,
        isAccess,
        namespaces: inNamespaces,
        nodes: nodes ?? inNamespaces === undefined,
        originOf: copyOrigin(cluster, business),
        sink: this.#core.sink,
      });
    });
    if (this.hasTicks) return;
    for (const cluster of this.#clusters) cluster.begin(survey.formOf(cluster.cluster));
  }

  get journeys(): ObserverCore["journeys"] {
    return this.#core.journeys;
  }

  /** Objects that could not be understood. */
  get malformed(): number {
    return this.#malformed;
  }

  /** The notes beside the figures. */
  get notes(): readonly string[] {
    return this.#notes;
  }

  isService(service: string): boolean {
    return this.#core.isService(service);
  }

  clusters(): readonly ClusterStatus[] {
    return this.#clusters.map((cluster) => cluster.status());
  }

  /** The proxy replicas that reported, and whether they have stopped to. */
  get replicas(): readonly { readonly name: string; readonly isLost: boolean }[] {
    return [...this.#replicas].map(([name, { isLost }]) => ({ name, isLost }));
  }

  /** When a line was taken in, by the clock of the run; undefined for one that has no time. */
  instantOf(line: RecordingLine): number {
    if (line.type === "input") return line.t;
    const t =
      line.type === "change" ? line.monotonic?.t : line.type === "listed" ? line.t : undefined;
    if (t !== undefined) return t;
    return this.hasTicks ? this.clock.monotonicMs() : this.#instantAt(line.atMs);
  }

  /** Takes a line in. Nothing is thrown for an object that is malformed: it is counted. */
  take(line: RecordingLine): void {
    if (line.type === "run") {
      this.#isRepeating = true;
      return;
    }
    if (this.#isRepeating) {
      if (line.type === "input" && line.input.type === "continued") this.#isRepeating = false;
      return;
    }
    this.#passTo(line);
    try {
      this.#apply(line);
    } catch (error) {
      if (!(error instanceof MalformedObjectError)) throw error;
      this.#malformed += 1;
    }
  }

  #passTo(line: RecordingLine): void {
    const t = this.instantOf(line);
    while (!this.hasTicks && this.#lookAt <= t) {
      this.clock.pass(this.#lookAt);
      this.#look();
      this.#lookAt += lookEveryMs;
    }
    const isLook = line.type === "input" && line.input.type === "tick";
    const atMs = line.type === "change" && line.monotonic !== undefined ? line.atMs : undefined;
    // The next look is set at the end of the one before, so what was set before that comes first.
    this.clock.pass(t, { atMs, ...(isLook && { setBefore: this.#lookedAt }) });
    const isStart = line.type === "input" && line.input.type === "started";
    if (isLook || isStart) this.#lookedAt = t;
  }

  #apply(line: Exclude<RecordingLine, { readonly type: "run" }>): void {
    switch (line.type) {
      case "input":
        this.#input(line.input);
        break;
      case "listed":
        this.#cluster(line.cluster)?.watch(resourceOf[line.kind], line.namespace)?.list();
        break;
      case "change":
        this.#change(line);
        break;
      case "alive":
        if (!this.hasTicks) for (const one of this.#clusters) one.standBehind(line.behind);
        break;
    }
  }

  #change(line: RecordedChange): void {
    const { change, by, afterMs, monotonic } = line;
    const object = this.#hasPorts ? line.object : withoutPorts(line.object);
    const since = monotonic === undefined ? afterMs && this.#instantAt(afterMs) : monotonic.since;
    const namespace = metadataText(object, "namespace");
    const { namespaced } = recordedKinds[line.kind];
    this.#cluster(line.cluster)
      ?.watch(resourceOf[line.kind], namespaced ? namespace : undefined)
      ?.take({
        change,
        by,
        object,
        notBefore: since as MonotonicMs | undefined,
        isFirst: monotonic?.isFirst,
      });
  }

  #input(input: RecordedInput): void {
    switch (input.type) {
      case "earlier":
        this.#core.remember(input.changes);
        break;
      case "began":
        this.#cluster(input.cluster)?.begin(input.form);
        break;
      case "watch":
        this.#cluster(input.cluster)?.watch(input.resource, input.namespace)?.stand(input.state);
        break;
      case "standing":
        this.#cluster(input.cluster)?.stand(input.standing);
        break;
      case "routed":
        this.#replica(input.replica).take(input.routed);
        break;
      case "traffic":
        this.#log(input.log).take(input.traffic);
        break;
      case "notes":
        this.#notes = input.notes;
        break;
      case "tick":
        this.#look();
        break;
      case "started":
      case "continued":
      case "ended":
        break;
    }
  }

  #look(): void {
    for (const cluster of this.#clusters) cluster.look();
    this.#core.look();
  }

  #event(event: JourneyEvent): void {
    for (const log of this.#logs.values()) log.onEvent(event);
    this.#onEvent(event);
  }

  #instantAt(atMs: number): number {
    return this.watched.monotonicMs + (atMs - this.#startMs);
  }

  #cluster(name: string): ReplayedCluster | undefined {
    return this.#clusters.find(({ cluster }) => cluster === name);
  }

  #replica(name: string): RoutedWitness {
    const known = this.#replicas.get(name) ?? this.#core.replica(name);
    this.#replicas.set(name, known);
    return known;
  }

  #log(name: string): TrafficWitness {
    const timers = this.clock;
    const known = this.#logs.get(name) ?? new TrafficWitness({ timers, name, target: this.#core });
    this.#logs.set(name, known);
    return known;
  }
}

/** Of a slice or of Endpoints. */
function withoutPorts(object: RawRecord): RawRecord {
  const { subsets } = { subsets: object["subsets"] };
  if (Array.isArray(subsets)) {
    const bare = subsets.map((subset) => (isRecord(subset) ? { ...subset, ports: [] } : subset));
    return { ...object, subsets: bare };
  }
  return "endpoints" in object ? { ...object, ports: [] } : object;
}

type ReplayedPart = Omit<ConstructorParameters<typeof ClusterWitnesses>[0], "form" | "openWatch">;

/** The effect of a recorded line on a watch of any kind. */
type AnyReplayedWatch = Pick<
  ReplayedWatch<Projected, never>,
  "take" | "list" | "stand" | "standBehind"
>;

class ReplayedCluster {
  readonly #part: ReplayedPart;
  /** By resource and namespace; one of all namespaces has none. */
  readonly #watches = new Map<string, AnyReplayedWatch & { readonly resource: string }>();
  #witnesses: ClusterWitnesses | undefined;
  #standing: ClusterStanding | undefined;

  constructor(part: ReplayedPart) {
    this.#part = part;
  }

  get cluster(): string {
    return this.#part.cluster;
  }

  /** Its watches are opened. */
  begin(form: PublishedForm): void {
    if (this.#witnesses !== undefined) return;
    const openWatch: OpenWatch = (request) => {
      const watch = new ReplayedWatch(request, this.#part.clock);
      const { resource, namespace = "" } = request;
      const any: AnyReplayedWatch & { readonly resource: string } = {
        resource,
        take: (change: ReplayedChange) => watch.take(change),
        list: () => watch.list(),
        stand: (state) => watch.stand(state),
        standBehind: (isBehind) => watch.standBehind(isBehind),
      };
      this.#watches.set(`${resource} ${namespace}`, any);
      return watch;
    };
    this.#witnesses = new ClusterWitnesses({ ...this.#part, form, openWatch });
  }

  /** The watch of an object of the namespace; undefined when there is none. */
  watch(resource: string, namespace = ""): AnyReplayedWatch | undefined {
    const ofAll = this.#watches.get(`${resource} `);
    return ofAll ?? this.#watches.get(`${resource} ${namespace}`);
  }

  watermark(...of: Parameters<ClusterWitnesses["watermark"]>): MonotonicMs | undefined {
    return this.#witnesses?.watermark(...of);
  }

  look(): void {
    this.#witnesses?.look();
  }

  stand(standing: ClusterStanding): void {
    this.#standing = standing;
  }

  /** Each `cluster resource`. */
  standBehind(behind: readonly string[]): void {
    for (const watch of this.#watches.values()) {
      watch.standBehind(behind.includes(`${this.cluster} ${watch.resource}`));
    }
  }

  status(): ClusterStatus {
    const watches = this.#witnesses?.watches.map(({ status }) => status) ?? [];
    const listed = watches.filter((watch) => watch.listed).length;
    const isListing = watches.length > 0 && listed < watches.length;
    const listing: ClusterState = { type: "listing", listed, of: watches.length };
    const known = watches.length === 0 ? ({ type: "connecting" } as const) : undefined;
    const state = known ?? (isListing ? listing : { type: "watching" });
    return clusterStatus(this.cluster, this.#standing ?? { state, hasSlices: true }, watches);
  }
}
