// A watch whose changes come from a recording. To witnesses it is what a watch of an API server is.
import type { Clock, MonotonicMs } from "../environment/clock.ts";
import { type RawRecord, recordAt } from "../kube/kinds/fields.ts";
import type { Projected } from "../kube/kinds/kind.ts";
import { currentAt } from "../kube/reflector/event-time-bounds.ts";
import { type ReadonlyStore, Store } from "../kube/store/store.ts";
import { type Change, describeChange, type LearntBy } from "../kube/store/store-change.ts";
import type { ObservedWatchStatus } from "../observe/cluster-status.ts";
import type { WatchFeed, WatchRequest, WatchState } from "../observe/observed-watch.ts";
import type { Learnt } from "../observe/pod-witness.ts";

/** One change of a recording, at the time of the clock. */
export interface ReplayedChange {
  readonly change: Change<Projected>["type"];
  readonly by: LearntBy;
  readonly object: RawRecord;
  readonly notBefore: MonotonicMs | undefined;
  /** Undefined where the recording does not say; then by what has been listed. */
  readonly isFirst: boolean | undefined;
}

const unlisted: WatchState = {
  currency: undefined,
  isHeard: false,
  status: { state: "stale", detail: "nothing has been listed yet", failure: undefined },
};

const listed: WatchState = {
  currency: "live",
  isHeard: true,
  status: { state: "fresh", detail: "", failure: undefined },
};

export class ReplayedWatch<T extends Projected, I extends string> implements WatchFeed<T, I> {
  readonly #request: WatchRequest<T, I>;
  readonly #clock: Clock;
  readonly #store: Store<T, I>;
  #state = unlisted;
  #synced = false;
  #hasTaken = false;

  constructor(request: WatchRequest<T, I>, clock: Clock) {
    this.#request = request;
    this.#clock = clock;
    this.#store = new Store(request);
  }

  get store(): ReadonlyStore<T, I> {
    return this.#store;
  }

  get synced(): boolean {
    return this.#synced;
  }

  get isRefused(): boolean {
    return this.#state.status.state === "refused";
  }

  get isHeard(): boolean {
    return this.#state.isHeard;
  }

  get isStarted(): boolean {
    return this.#synced || this.#hasTaken;
  }

  get status(): ObservedWatchStatus {
    const { resource, namespace, purposes } = this.#request;
    return {
      ...this.#state.status,
      currentAtMs: undefined,
      resource,
      namespace,
      purposes,
      listed: this.#synced,
      objects: this.#store.size,
      aliveAtMs: undefined,
    };
  }

  /** Each change of a recording says itself since when it can have been so. */
  get behindSince(): MonotonicMs | undefined {
    return undefined;
  }

  get currentAt(): MonotonicMs {
    return currentAt(this.#state.currency, this.#clock.monotonicMs());
  }

  /** From now on it can be relied on so far. */
  stand(state: WatchState): void {
    this.#state = state;
  }

  /** The same for a recording that says only whether it was behind. */
  standBehind(isBehind: boolean): void {
    if (!this.#synced || isBehind === (this.#state.currency !== "live")) return;
    const detail = "it may be behind";
    const stale = { state: "stale", detail, failure: undefined } as const;
    this.#state = isBehind ? { ...listed, currency: this.currentAt, status: stale } : listed;
  }

  /** Throws `MalformedObjectError` for an object that cannot be understood. */
  take({ change, by, object, notBefore, isFirst }: ReplayedChange): void {
    this.#hasTaken = true;
    const { kind, isBegun, onChange } = this.#request;
    const baseline = isFirst ?? !(isBegun?.() ?? this.#synced);
    const learnt: Learnt = { at: this.#clock.monotonicMs(), baseline, notBefore };
    const metadata = { resourceVersion: "0", ...recordAt(object, "metadata") };
    const { namespace = "", name = "" } = metadata as { namespace?: string; name?: string };
    const known = this.#store.get(kind.namespaced ? namespace : "", name);
    const projected = kind.project({ ...object, metadata }, known);
    if (change === "deleted") {
      this.#store.delete(projected.metadata.namespace, projected.metadata.name);
      const deleted = { type: change, object: projected, finalStateUnknown: false } as const;
      onChange({ ...deleted, learntBy: by }, learnt);
      return;
    }
    const previous = this.#store.set(projected);
    describeChange(previous, projected, by, (one) => onChange(one, learnt));
  }

  /** Everything has been listed once. */
  list(): void {
    if (this.#synced) return;
    this.#synced = true;
    if (this.#state === unlisted) this.#state = listed;
    this.#request.onListed?.();
  }

  start(): void {
    // Its data comes from the recording.
  }

  waitForSync(): Promise<void> {
    // Nothing is opened when it is listed: the recording has it all.
    return new Promise(() => undefined);
  }

  waitUntilSettled(): Promise<void> {
    return Promise.resolve();
  }

  look(): void {
    // The recording has what a look would find.
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}
