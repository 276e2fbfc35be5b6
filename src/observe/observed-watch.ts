// One watch of the observer: a reflector that adds to every change the earliest time at which it
// can have happened. A change is late if the watch is late, or if another watch of the cluster was
// late a moment ago. Then the earliest time is the last proof that the watch was current. Witnesses
// know watches only as `WatchFeed`, so that a recording can replace a cluster.
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

/** The watch that a witness needs. */
export interface WatchRequest<T extends Projected, I extends string> {
  readonly cluster: string;
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly kind: Kind<T>;
  readonly resource: ObservedResource;
  readonly purposes: readonly WatchPurpose[];
  readonly indexes: IndexFunctions<T, I>;
  readonly onChange: (change: Change<T>, learnt: Learnt) => void;
  /** Everything has been listed once; called before those who wait for it are. */
  readonly onListed?: () => void;
  /** Until then what is shown is what was there before; the first list of this watch unless given. */
  readonly isBegun?: () => boolean;
  /** Of a second watch that is needed to interpret this one: its missing events count here too. */
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

/** The part of a watch that does not depend on its kind. */
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

  /**
   * A client that may list but not watch receives no changes either, although its list is fresh for
   * a while.
   */
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

  /** Events after this time may be missing; undefined while the watch keeps up. */
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

  /** Checks for changes that come with time alone; call it about every second. */
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
    // A late change of one watch may be older than everything that the other has reported.
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
