// One watch of the observer: a reflector that also tells, with every change, since when it can have
// been so: since the watch was last proved to be current, where it is late itself or another watch of
// its cluster told something late a moment ago.
import type { Registry } from "prom-client";
import type { MonotonicMs } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Kind, Projected } from "../kube/kinds/kind.ts";
import { Reflector } from "../kube/reflector/reflector.ts";
import { SyncGate } from "../kube/reflector/reflector-sync.ts";
import { ToldSince } from "../kube/reflector/told-since.ts";
import type { ReadonlyStore } from "../kube/store/store.ts";
import type { Change } from "../kube/store/store-change.ts";
import type { IndexFunctions } from "../kube/store/store-view.ts";
import { watchStatus } from "../sources/watch-status.ts";
import type { ObservedResource, ObservedWatchStatus, WatchPurpose } from "./cluster-status.ts";
import type { Learnt } from "./pod-witness.ts";

/** Where an observer watches, and by what means. */
export interface WatchPlace extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly metrics?: Registry;
}

export interface ObservedWatchOptions<T extends Projected, I extends string> extends WatchPlace {
  readonly kind: Kind<T>;
  readonly resource: ObservedResource;
  readonly purposes: readonly WatchPurpose[];
  readonly indexes: IndexFunctions<T, I>;
  readonly onChange: (change: Change<T>, learnt: Learnt) => void;
  /** Everything has been listed once, and nobody who waits for that has been told yet. */
  readonly onListed?: () => void;
  /** Until then what is shown is what was there before; the first list of this watch unless given. */
  readonly isBegun?: () => boolean;
}

/** What all watches have in common, whatever they are of. */
export type AnyObservedWatch = Pick<
  ObservedWatch<Projected>,
  | "status"
  | "isHeard"
  | "look"
  | "currentAt"
  | "behindSince"
  | "start"
  | "stop"
  | "synced"
  | "waitUntilSettled"
>;

export class ObservedWatch<T extends Projected, I extends string = never> {
  readonly #options: ObservedWatchOptions<T, I>;
  readonly #reflector: Reflector<T, I>;
  readonly #told: ToldSince;
  /** Opens when everything has been listed or the list was refused. */
  readonly #settled = new SyncGate();
  #waiting: Promise<void> | undefined;

  constructor(options: ObservedWatchOptions<T, I>) {
    this.#options = options;
    this.#reflector = new Reflector({
      ...options,
      handlers: [(change) => options.onChange(change, this.#learnt(change))],
    });
    this.#told = new ToldSince({ reflector: this.#reflector, clock: options.clock });
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
    return this.synced && !this.isRefused;
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
    return this.#told.behindSince;
  }

  /** All that was so then has been reported. */
  get currentAt(): MonotonicMs {
    return this.#told.currentAt;
  }

  /** Begins to list and watch; a second call does nothing. */
  start(): void {
    this.#reflector.start();
    this.#waiting ??= this.#reflector.waitForSync().then(
      () => {
        this.#told.noteListed();
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
    this.#told.note();
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    await this.#reflector.stop();
    this.#settled.close();
    await this.#waiting;
  }

  #learnt(change: Change<T>): Learnt {
    const baseline = !(this.#options.isBegun?.() ?? this.synced);
    return { baseline, notBefore: this.#told.notBefore(change) };
  }
}
