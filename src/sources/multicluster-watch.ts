// A watch of one kind of the Multi-Cluster Services API (multicluster.x-k8s.io, KEP-1645). Its definition may
// be missing, or installed later: until then nothing is watched, nor is any permission needed.
import type { Registry } from "prom-client";
import type { Environment } from "../environment/environment.ts";
import type { CancelTimer } from "../environment/timers.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Kind, Projected } from "../kube/kinds/kind.ts";
import { Reflector } from "../kube/reflector/reflector.ts";
import type { ReadonlyStore } from "../kube/store/store.ts";
import type { Change } from "../kube/store/store-change.ts";
import { lookAgainMs, servedVersion } from "./multicluster-api.ts";
import { watchStatus } from "./watch-status.ts";

export interface MulticlusterWatchOptions<T extends Projected>
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  readonly resource: "serviceexports" | "serviceimports";
  readonly kindOf: (version: string) => Kind<T>;
  readonly onChange: (change: Change<T>) => void;
  /** Called when the kind is found. */
  readonly onFound?: () => void;
  /** Called when it becomes known which objects there are. */
  readonly onKnown: () => void;
  readonly metrics?: Registry;
}

export class MulticlusterWatch<T extends Projected> {
  readonly #options: MulticlusterWatchOptions<T>;
  readonly #abort = new AbortController();
  #reflector: Reflector<T> | undefined;
  #version: string | undefined;
  #isAbsent = false;
  #cancelLook: CancelTimer | undefined;
  #looking: Promise<void> | undefined;

  constructor(options: MulticlusterWatchOptions<T>) {
    this.#options = options;
  }

  /** Undefined before it was listed. */
  get listed(): ReadonlyStore<T> | undefined {
    return this.#reflector?.synced === true ? this.#reflector.store : undefined;
  }

  /** The API server has no such kind. */
  get isAbsent(): boolean {
    return this.#reflector === undefined && this.#isAbsent;
  }

  /** There is no permission to list it. */
  get isRefused(): boolean {
    const reflector = this.#reflector;
    return reflector?.synced === false && watchStatus(reflector).state === "refused";
  }

  /** Whether more will not be known for now. */
  get settled(): boolean {
    return this.isAbsent || this.isRefused || this.listed !== undefined;
  }

  /** Of the API, as it is watched; undefined while it is not. */
  get version(): string | undefined {
    return this.#version;
  }

  /** A second call does nothing. */
  start(): void {
    this.#looking ??= this.#look();
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error(`the ${this.#options.resource} are not needed any more`));
    this.#cancelLook?.();
    await this.#looking;
    await this.#reflector?.stop();
  }

  async #look(): Promise<void> {
    const { timers, log, cluster, client, resource, onKnown } = this.#options;
    try {
      const version = await servedVersion(client, resource, this.#abort.signal);
      if (version !== undefined) {
        await this.#watch(version);
        return;
      }
      const isNew = !this.#isAbsent;
      this.#isAbsent = true;
      if (isNew) onKnown();
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      log.warn(`cannot read whether the cluster has ${resource}`, { cluster, error });
    }
    if (this.#abort.signal.aborted) return;
    this.#cancelLook = timers.after(lookAgainMs, () => {
      this.#looking = this.#look();
    });
  }

  async #watch(version: string): Promise<void> {
    const { kindOf, onChange, onFound, onKnown } = this.#options;
    this.#version = version;
    const kind = kindOf(version);
    const handlers = [onChange];
    this.#reflector = new Reflector<T>({ ...this.#options, kind, indexes: {}, handlers });
    this.#reflector.start();
    onFound?.();
    await this.#reflector.waitForSync(this.#abort.signal);
    onKnown();
  }
}
