// One watch of the observer: a reflector that also tells, with every change, since when it can have
// been so: since the watch was last proved to be current, where it is late itself or another watch of
// its cluster told something late a moment ago. Witnesses know watches by `WatchFeed` only, so that
// a recording can stand in for a cluster.
import type { Registry } from "prom-client";
import type { MonotonicMs } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Kind, Projected } from "../kube/kinds/kind.ts";
import { type Currency, currentAt, EventTimeBounds } from "../kube/reflector/event-time-bounds.ts";
import { Reflector } from "../kube/reflector/reflector.ts";
import { SyncGate } from "../kube/reflector/reflector-sync.ts";
import type { ReadonlyStore } from "../kube/store/store.ts";
import type { Change } from "../kube/store/store-change.ts";
import type { IndexFunctions } from "../kube/store/store-view.ts";
import { watchStatus } from "../sources/watch-status.ts";
import type { ObservedResource, ObservedWatchStatus, WatchPurpose } from "./cluster-status.ts";
import type { Learnt } from "./pod-witness.ts";

/** By what means an observer watches. */
export interface WatchMeans extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly metrics?: Registry;
}

/** What a witness wants to watch. */
export interface WatchRequest<T extends Projected, I extends string> {
  readonly cluster: string;
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly kind: Kind<T>;
  readonly resource: ObservedResource;
  readonly purposes: readonly WatchPurpose[];
  readonly indexes: IndexFunctions<T, I>;
  readonly onChange: (change: Change<T>, learnt: Learnt) => void;
  /** Everything has been listed once, and nobody who waits for that has been told yet. */
  readonly onListed?: () => void;
  /** Until then what is shown is what was there before; the first list of this watch unless given. */
  readonly isBegun?: () => boolean;
  /** Of a watch that is needed to understand this one: what it has yet to report counts here too. */
  readonly alsoBehindSince?: () => MonotonicMs | undefined;
}

/** Opens a watch: of an API server, or of a recording. */
export type OpenWatch = <T extends Projected, I extends string = never>(
  request: WatchRequest<T, I>,
) => WatchFeed<T, I>;

/** A watch as witnesses know it. */
export type WatchFeed<T extends Projected, I extends string = never> = Pick<
  ObservedWatch<T, I>,
  keyof ObservedWatch<T, I>
>;

/** What all watches have in common, whatever they are of. */
export type AnyWatchFeed = Omit<WatchFeed<Projected>, "store">;

/** How far a watch can be relied on. */
export interface WatchState {
  readonly currency: Currency;
  /** Whether it shows changes, however late. */
  readonly isHeard: boolean;
  readonly status: Pick<ObservedWatchStatus, "state" | "detail" | "doubt" | "failure">;
}

/** How a change was learnt, also by this watch alone. */
export interface WatchLearnt extends Learnt {
  /** As `notBefore`, whatever other watches have yet to report. */
  readonly ownNotBefore: MonotonicMs | undefined;
}

export interface ObservedWatchOptions<T extends Projected, I extends string>
  extends Omit<WatchRequest<T, I>, "onChange">,
    WatchMeans {
  readonly onChange: (change: Change<T>, learnt: WatchLearnt) => void;
  /** Called before anything is answered from a state that differs from the one before. */
  readonly onState?: (state: WatchState) => void;
}

/** Watches of an API server. */
export function openWatches(means: WatchMeans): OpenWatch {
  return (request) => new ObservedWatch({ ...means, ...request });
}

export class ObservedWatch<T extends Projected, I extends string = never> {
  readonly #options: ObservedWatchOptions<T, I>;
  readonly #reflector: Reflector<T, I>;
  readonly #timeBounds: EventTimeBounds;
  /** Opens when everything has been listed or the list was refused. */
  readonly #settled = new SyncGate();
  #waiting: Promise<void> | undefined;
  #isListed = false;
  /** As it was when it was last looked at, so that a recording of it is exact. */
  #currency: Currency;
  /** The last state that was handed over, as text. */
  #stateText = "";

  constructor(options: ObservedWatchOptions<T, I>) {
    this.#options = options;
    this.#reflector = new Reflector({
      ...options,
      handlers: [(change) => options.onChange(change, this.#learnt(change))],
    });
    this.#timeBounds = new EventTimeBounds({ reflector: this.#reflector, clock: options.clock });
  }

  get store(): ReadonlyStore<T, I> {
    return this.#reflector.store;
  }

  get synced(): boolean {
    return this.#reflector.synced;
  }

  /** Who may list but not watch hears nothing either, though what was listed is fresh for a while. */
  get isRefused(): boolean {
    const { connectedSinceMs } = this.#reflector.freshness();
    return this.#reflector.condition().type === "refused" && connectedSinceMs === undefined;
  }

  /** Whether it shows changes, however late. */
  get isHeard(): boolean {
    return this.#isListed && !this.isRefused;
  }

  get isStarted(): boolean {
    return this.#waiting !== undefined;
  }

  get status(): ObservedWatchStatus {
    const { resource, namespace, purposes } = this.#options;
    const status = watchStatus(this.#reflector);
    const { type, message } = this.#reflector.condition();
    return {
      ...status,
      ...(this.isRefused && { state: "refused", detail: message }),
      resource,
      namespace,
      purposes,
      listed: this.#reflector.synced,
      objects: this.#reflector.store.size,
      aliveAtMs: this.#reflector.freshness().aliveAtMs,
      failure: type === "retrying" ? message : undefined,
    };
  }

  /** What happened since then may not have been told yet; undefined when it keeps up. */
  get behindSince(): MonotonicMs | undefined {
    return this.#timeBounds.behindSince;
  }

  /** All that was so then has been reported. */
  get currentAt(): MonotonicMs {
    return currentAt(this.#currency, this.#options.clock.monotonicMs());
  }

  /** Begins to list and watch; a second call does nothing. */
  start(): void {
    this.#reflector.start();
    this.#waiting ??= this.#reflector.waitForSync().then(
      () => {
        this.#timeBounds.noteListed();
        this.#isListed = true;
        this.#noteState();
        this.#options.onListed?.();
        this.#settled.open();
      },
      () => this.#settled.close(),
    );
  }

  /** Resolves when listed; rejects when the signal aborts or it is stopped before. */
  waitForSync(signal?: AbortSignal): Promise<void> {
    return this.#reflector.waitForSync(signal);
  }

  /** As `waitForSync`, but a list that the server refuses is not waited for. */
  waitUntilSettled(signal?: AbortSignal): Promise<void> {
    return this.#settled.wait(signal);
  }

  /** Time passes without anybody telling: to be called every second or so. */
  look(): void {
    if (this.isRefused) this.#settled.open();
    this.#noteState();
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    await this.#reflector.stop();
    this.#settled.close();
    await this.#waiting;
  }

  #noteState(): void {
    this.#currency = this.#timeBounds.currency;
    const { onState } = this.#options;
    if (onState === undefined) return;
    const { state, detail, doubt, failure } = this.status;
    const status = { state, detail, ...(doubt !== undefined && { doubt }), failure };
    const noted: WatchState = { currency: this.#currency, isHeard: this.isHeard, status };
    const text = JSON.stringify(noted);
    if (text === this.#stateText) return;
    this.#stateText = text;
    onState(noted);
  }

  #learnt(change: Change<T>): WatchLearnt {
    const { isBegun, alsoBehindSince } = this.#options;
    const baseline = !(isBegun?.() ?? this.synced);
    const own = this.#timeBounds.notBefore(change);
    this.#noteState();
    // What one watch tells late was so before, for all that the other has told.
    const behindSince = own === undefined ? undefined : alsoBehindSince?.();
    const isEarlier = own !== undefined && behindSince !== undefined;
    return {
      at: this.#options.clock.monotonicMs(),
      baseline,
      notBefore: isEarlier && behindSince < own ? behindSince : own,
      ownNotBefore: own,
    };
  }
}
