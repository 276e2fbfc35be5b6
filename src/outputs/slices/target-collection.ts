// One kind of object in the access cluster: the watch's objects, replaced by newer versions that we
// wrote or read ourselves.
import type { Registry } from "prom-client";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Kind, Projected } from "../../kube/kinds/kind.ts";
import { Reflector } from "../../kube/reflector/reflector.ts";
import type { Condition } from "../../kube/reflector/reflector-state.ts";
import type { Change } from "../../kube/store/store-change.ts";
import { watchStatus } from "../../sources/watch-status.ts";
import { WrittenObjects } from "./written-objects.ts";

export interface TargetCollectionOptions<T extends Projected>
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly kind: Kind<T>;
  readonly client: KubeClient;
  readonly cluster: string;
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly fieldSelector?: string;
  /** The key of lookups; undefined for an object that is never looked up. */
  readonly groupOf: (object: T) => string | undefined;
  /** Called with each version that the watch brings, and with the one it replaces. */
  readonly onChange: (object: T) => void;
  readonly metrics?: Registry;
}

export class TargetCollection<T extends Projected> {
  readonly kind: Kind<T>;
  readonly #reflector: Reflector<T, "group">;
  readonly #written: WrittenObjects<T>;

  constructor(options: TargetCollectionOptions<T>) {
    const { kind, groupOf, onChange } = options;
    this.kind = kind;
    const onEvent = (change: Change<T>): void => {
      onChange(change.object);
      if (change.type === "updated") onChange(change.previous);
    };
    const reflector = new Reflector<T, "group">({
      ...options,
      indexes: { group: groupOf },
      handlers: [onEvent],
    });
    this.#reflector = reflector;
    this.#written = new WrittenObjects({
      groupOf,
      stored: (namespace, name) => reflector.store.get(namespace, name),
      reachedVersion: () => reflector.freshness().resourceVersion,
    });
  }

  get synced(): boolean {
    return this.#reflector.synced;
  }

  /** Why its objects may be outdated, in words; undefined when they are not. */
  get staleness(): string | undefined {
    const { state, detail } = watchStatus(this.#reflector);
    return state === "fresh" ? undefined : detail;
  }

  condition(): Condition {
    return this.#reflector.condition();
  }

  group(value: string): readonly T[] {
    return this.#written.over(value, this.#reflector.store.byIndex("group", value));
  }

  /** Whether the watch shows an object of that name. */
  isShown(namespace: string, name: string): boolean {
    return this.#reflector.store.get(namespace, name) !== undefined;
  }

  /** Takes note of an object as the API server has just sent it, and returns its version. */
  note(raw: unknown): string {
    const object = this.kind.project(raw);
    this.#written.note(object);
    return object.metadata.resourceVersion;
  }

  noteGone(namespace: string, name: string): void {
    const shown = this.#reflector.store.get(namespace, name);
    if (shown !== undefined) this.#written.noteGone(shown);
  }

  start(): void {
    this.#reflector.start();
  }

  /** Rejects when the signal aborts first, or when it is stopped. */
  async waitForSync(signal: AbortSignal): Promise<void> {
    await this.#reflector.waitForSync(signal);
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await this.#reflector.stop();
  }
}
