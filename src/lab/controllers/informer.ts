// One watch of one collection for all controllers of a process, with several handlers, and the
// resync: after a while everything known is handed over once more, as an update whose old and new
// object are the same. It costs no request; what handlers make of it may.
import type { Environment } from "../../environment/environment.ts";
import { randomInt } from "../../environment/random.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Kind, Projected } from "../../kube/kinds/kind.ts";
import { Reflector } from "../../kube/reflector/reflector.ts";
import type { ChangeHandler } from "../../kube/reflector/reflector-delivery.ts";
import { noChecks } from "../../kube/reflector/reflector-parts.ts";
import type { ReadonlyStore } from "../../kube/store/store.ts";
import type { IndexFunctions } from "../../kube/store/store-view.ts";

export interface InformerOptions<T extends Projected, I extends string>
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  readonly kind: Kind<T>;
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly indexes: IndexFunctions<T, I>;
  /** Between two resyncs of a handler that names no period of its own. */
  readonly resyncMs: number;
}

interface Registration<T> {
  readonly handler: ChangeHandler<T>;
  readonly resyncMs: number;
}

export class Informer<T extends Projected, I extends string> {
  readonly #options: InformerOptions<T, I>;
  readonly #reflector: Reflector<T, I>;
  /** Handlers are added before the start: a later one would miss what came before it. */
  readonly #registrations: Registration<T>[] = [];
  readonly #stopped = new AbortController();

  constructor(options: InformerOptions<T, I>) {
    this.#options = options;
    this.#reflector = new Reflector({
      ...options,
      checks: noChecks,
      handlers: [
        (change) => {
          for (const { handler } of this.#registrations) handler(change);
        },
      ],
    });
  }

  get store(): ReadonlyStore<T, I> {
    return this.#reflector.store;
  }

  onChange(handler: ChangeHandler<T>, options: { readonly resyncMs?: number } = {}): void {
    if (this.#reflector.state !== "empty") throw new Error("the informer has been started");
    this.#registrations.push({ handler, resyncMs: options.resyncMs ?? this.#options.resyncMs });
  }

  start(): void {
    this.#reflector.start();
    for (const registration of this.#registrations) this.#resyncLater(registration);
  }

  waitForSync(signal: AbortSignal): Promise<void> {
    return this.#reflector.waitForSync(signal);
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#reflector.stop();
  }

  #resyncLater(registration: Registration<T>): void {
    const cancel = this.#options.timers.after(registration.resyncMs, () => {
      this.#stopped.signal.removeEventListener("abort", cancel);
      if (this.#stopped.signal.aborted) return;
      this.#resync(registration);
      this.#resyncLater(registration);
    });
    this.#stopped.signal.addEventListener("abort", cancel, { once: true });
  }

  /** In no order, as Go's maps have none: a key's place in the storm is luck. */
  #resync({ handler }: Registration<T>): void {
    const objects = [...this.store];
    for (let last = objects.length - 1; last >= 0; last -= 1) {
      const chosen = randomInt(this.#options.random, last + 1);
      const object = objects[chosen];
      const displaced = objects[last];
      if (object === undefined || displaced === undefined) continue;
      objects[chosen] = displaced;
      handler({ type: "updated", object, previous: object, learntBy: "list" });
    }
  }
}
