// Writes down what an observer takes in, as the lines of a recording. It opens no watches of its own;
// each input passes by it first and becomes a line. With all that is known at any time a new file can
// begin, so that it can be read alone.
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { Projected } from "../kube/kinds/kind.ts";
import type { Change } from "../kube/store/store-change.ts";
import type { ClusterStanding } from "../observe/cluster-status.ts";
import {
  ObservedWatch,
  type OpenWatch,
  type WatchFeed,
  type WatchLearnt,
  type WatchMeans,
  type WatchRequest,
  type WatchState,
} from "../observe/observed-watch.ts";
import type { ObserverTap } from "../observe/observer-tap.ts";
import type { RoutedEndpoint, RoutedInput } from "../observe/routed-witness.ts";
import type { TrafficInput } from "../observe/traffic/traffic-witness.ts";
import type { PublishedForm } from "../sources/published-form.ts";
import type { EarlierChange } from "../timeline/earlier-changes.ts";
import type { RecordedInput } from "./recorded-input.ts";
import { type Recorded, type RecordedKindName, withJson } from "./recorded-kinds.ts";
import { aliveLine, changeLine, inputLine, listedLine } from "./recording-line.ts";

export interface ObserverTapeOptions {
  readonly clock: Clock;
  /** Takes each line. */
  readonly write: (line: string) => void;
}

interface Tapped {
  readonly cluster: string;
  readonly kind: RecordedKindName;
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly store: Iterable<Recorded>;
  state: RecordedInput | undefined;
  isFresh: boolean;
  isListed: boolean;
}

interface Replica {
  readonly services: Map<string, readonly RoutedEndpoint[]>;
  isLost: boolean;
}

interface Log {
  readonly services: Set<string>;
  isHeard: boolean;
}

/** `lockstep blame` reads nothing into a longer silence than this. */
const aliveEveryMs = 10_000;

export class ObserverTape implements ObserverTap {
  readonly #options: ObserverTapeOptions;
  readonly #began = new Map<string, PublishedForm>();
  readonly #standings = new Map<string, { readonly text: string; readonly line: RecordedInput }>();
  readonly #watches: Tapped[] = [];
  readonly #replicas = new Map<string, Replica>();
  readonly #logs = new Map<string, Log>();
  #earlier: readonly EarlierChange[] = [];
  #notes: readonly string[] = [];
  #aliveAt: MonotonicMs | undefined;
  #isStarted = false;
  /** Nothing is recorded from then on. */
  #isOver = false;

  constructor(options: ObserverTapeOptions) {
    this.#options = options;
  }

  /** The observation begins to be shown. */
  started(): void {
    this.#isStarted = true;
    this.#write({ type: "started" });
  }

  /** The notes beside the figures; only changes are written. */
  noted(notes: readonly string[]): void {
    if (notes.join("\n") === this.#notes.join("\n")) return;
    this.#notes = notes;
    this.#write({ type: "notes", notes });
  }

  /** The observation is over: later inputs have no effect. */
  ended(): void {
    this.#alive();
    this.#write({ type: "ended" });
    this.#isOver = true;
  }

  earlier(changes: readonly EarlierChange[]): void {
    this.#earlier = changes;
    this.#write({ type: "earlier", changes });
  }

  openWatches(means: WatchMeans): OpenWatch {
    return (request) => this.#open(means, request);
  }

  began(cluster: string, form: PublishedForm): void {
    this.#began.set(cluster, form);
    this.#write({ type: "began", cluster, form });
  }

  standing(cluster: string, standing: ClusterStanding): void {
    const text = JSON.stringify(standing);
    if (this.#standings.get(cluster)?.text === text) return;
    const line = { type: "standing", cluster, standing } as const;
    this.#standings.set(cluster, { text, line });
    this.#write(line);
  }

  routed(name: string, routed: RoutedInput): void {
    const replica = this.#replicas.get(name) ?? { services: new Map(), isLost: false };
    this.#replicas.set(name, replica);
    if (routed.type === "began") {
      for (const [service, list] of Object.entries(routed.services)) {
        replica.services.set(service, list);
      }
    } else if (routed.type === "routed") replica.services.set(routed.service, routed.endpoints);
    else if (routed.type === "dropped") replica.services.delete(routed.service);
    else if (routed.type === "lost" || routed.type === "found") {
      replica.isLost = routed.type === "lost";
    } else if (routed.type === "stop") this.#replicas.delete(name);
    this.#write({ type: "routed", replica: name, routed });
  }

  traffic(name: string, traffic: TrafficInput): void {
    const log = this.#logs.get(name) ?? { services: new Set(), isHeard: false };
    this.#logs.set(name, log);
    if (traffic.type === "heard") {
      log.isHeard = traffic.isHeard;
      if (!traffic.isHeard) log.services.clear();
    } else if (traffic.type === "named") log.services.add(traffic.service);
    this.#write({ type: "traffic", log: name, traffic });
  }

  looked(): void {
    this.#write({ type: "tick" });
    const now = this.#options.clock.monotonicMs();
    if (this.#aliveAt === undefined || elapsedMs(this.#aliveAt, now) >= aliveEveryMs) this.#alive();
  }

  /**
   * All that is known now, as lines, in an order in which it could have been seen; also of a list that
   * is not whole yet, whose end would else say that what it has named before is gone.
   */
  baseline(): readonly string[] {
    const t = this.#options.clock.monotonicMs();
    const inputs: RecordedInput[] = this.#isStarted ? [{ type: "started" }] : [];
    if (this.#earlier.length > 0) inputs.push({ type: "earlier", changes: this.#earlier });
    for (const [cluster, form] of this.#began) inputs.push({ type: "began", cluster, form });
    return [
      ...inputs.map((input) => inputLine(t, input)),
      ...this.#watches.flatMap((tapped) => this.#watchBaseline(tapped)),
      ...this.#otherBaseline(t).map((input) => inputLine(t, input)),
    ];
  }

  #alive(): void {
    const { clock } = this.#options;
    this.#aliveAt = clock.monotonicMs();
    const behind = this.#watches
      .filter(({ isListed, isFresh }) => isListed && !isFresh)
      .map(({ cluster, resource }) => `${cluster} ${resource}`);
    this.#add(aliveLine({ atMs: clock.wallMs(), behind: [...new Set(behind)] }));
  }

  #open<T extends Projected, I extends string>(
    means: WatchMeans,
    request: WatchRequest<T, I>,
  ): WatchFeed<T, I> {
    const { cluster, resource, namespace } = request;
    const kind = withJson(request.kind);
    const watch = new ObservedWatch<T & Recorded, I>({
      ...means,
      ...request,
      kind,
      onChange: (change, learnt) => {
        this.#changed(tapped, change, learnt);
        request.onChange(change, learnt);
      },
      onListed: () => {
        tapped.isListed = true;
        this.#add(this.#listedLine(tapped));
        request.onListed?.();
      },
      onState: (state) => this.#stated(tapped, state),
    });
    const tapped: Tapped = {
      cluster,
      kind: kind.kind as RecordedKindName,
      resource,
      namespace,
      store: watch.store,
      state: undefined,
      isFresh: false,
      isListed: false,
    };
    this.#watches.push(tapped);
    return watch;
  }

  #stated(tapped: Tapped, state: WatchState): void {
    const { cluster, resource, namespace } = tapped;
    const input = { type: "watch", cluster, resource, namespace, state } as RecordedInput;
    tapped.state = input;
    tapped.isFresh = state.status.state === "fresh";
    this.#write(input);
  }

  #changed(tapped: Tapped, change: Change<Recorded>, learnt: WatchLearnt): void {
    const { object, type, learntBy: by } = change;
    const { at: t, baseline, notBefore, ownNotBefore } = learnt;
    if (type === "updated" && change.previous.json === object.json) return;
    const atMs = this.#options.clock.wallMs();
    // The time of the object's change depends on no other watch; the witness's interpretation may.
    const isLate = ownNotBefore !== undefined && tapped.isListed;
    this.#add(
      changeLine({
        atMs,
        cluster: tapped.cluster,
        kind: tapped.kind,
        change: type,
        by,
        afterMs: isLate ? atMs - elapsedMs(ownNotBefore, t) : undefined,
        json: object.json,
        monotonic: { t, since: notBefore, isFirst: baseline },
      }),
    );
  }

  #listedLine({ cluster, kind, namespace }: Tapped): string {
    const { clock } = this.#options;
    return listedLine({
      atMs: clock.wallMs(),
      t: clock.monotonicMs(),
      cluster,
      kind,
      namespace,
    });
  }

  #write(input: RecordedInput): void {
    this.#add(inputLine(this.#options.clock.monotonicMs(), input));
  }

  #add(line: string): void {
    if (!this.#isOver) this.#options.write(line);
  }

  #watchBaseline(tapped: Tapped): readonly string[] {
    const { clock } = this.#options;
    const [atMs, t] = [clock.wallMs(), clock.monotonicMs()];
    const { cluster, kind, store, state, isListed } = tapped;
    const monotonic = { t, since: undefined, isFirst: true };
    const what = { atMs, cluster, kind, change: "added", by: "list", afterMs: undefined } as const;
    return [
      ...[...store].map(({ json }) => changeLine({ ...what, json, monotonic })),
      ...(state === undefined ? [] : [inputLine(t, state)]),
      ...(isListed ? [this.#listedLine(tapped)] : []),
    ];
  }

  #otherBaseline(at: MonotonicMs): readonly RecordedInput[] {
    const inputs: RecordedInput[] = [];
    for (const [replica, { services, isLost }] of this.#replicas) {
      const began = { type: "began", services: Object.fromEntries(services), at } as const;
      inputs.push({ type: "routed", replica, routed: began });
      if (isLost) inputs.push({ type: "routed", replica, routed: { type: "lost" } });
    }
    for (const [log, { services, isHeard }] of this.#logs) {
      inputs.push({ type: "traffic", log, traffic: { type: "heard", isHeard } });
      for (const service of services) {
        inputs.push({ type: "traffic", log, traffic: { type: "named", service } });
      }
    }
    if (this.#notes.length > 0) inputs.push({ type: "notes", notes: this.#notes });
    inputs.push(...[...this.#standings.values()].map(({ line }) => line), { type: "continued" });
    return inputs;
  }
}
