// The Ingresses and IngressClasses of the access cluster: what people asked to be routed. A change of
// an Ingress's status, which the leader itself writes, asks for nothing and changes no route.

import { isDeepStrictEqual } from "node:util";
import type { Registry } from "prom-client";
import type { Environment } from "../environment/environment.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type Ingress, ingressKind } from "../kube/kinds/ingress.ts";
import { type IngressClass, ingressClassKind } from "../kube/kinds/ingress-class.ts";
import { objectKey } from "../kube/kinds/kind.ts";
import { Reflector } from "../kube/reflector/reflector.ts";
import type { Change } from "../kube/store/store-change.ts";
import { type WatchStatus, watchStatus } from "./watch-status.ts";

export interface IngressSourceOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  /** Called synchronously: what is asked for may have changed. */
  readonly onRoutes: () => void;
  readonly metrics?: Registry;
}

export class IngressSource {
  readonly cluster: string;
  readonly #ingresses: Reflector<Ingress>;
  readonly #classes: Reflector<IngressClass>;
  readonly #followers = new Set<(key: string) => void>();

  constructor(options: IngressSourceOptions) {
    this.cluster = options.cluster;
    const { onRoutes } = options;
    this.#ingresses = new Reflector({
      ...options,
      kind: ingressKind,
      indexes: {},
      handlers: [
        (change) => {
          if (asksAnew(change)) onRoutes();
          this.#tell([change.object]);
        },
      ],
    });
    this.#classes = new Reflector({
      ...options,
      kind: ingressClassKind,
      indexes: {},
      handlers: [
        () => {
          onRoutes();
          this.#tell(this.ingresses());
        },
      ],
    });
  }

  /** Calls back synchronously with the key of each Ingress that may have changed, status included. */
  follow(listener: (key: string) => void): () => void {
    this.#followers.add(listener);
    return () => void this.#followers.delete(listener);
  }

  ingress(namespace: string, name: string): Ingress | undefined {
    return this.#ingresses.store.get(namespace, name);
  }

  ingresses(): readonly Ingress[] {
    return this.#ingresses.store.snapshot();
  }

  classes(): readonly IngressClass[] {
    return this.#classes.store.snapshot();
  }

  watch(name: "ingresses" | "ingressclasses"): WatchStatus {
    return name === "ingresses" ? watchStatus(this.#ingresses) : watchStatus(this.#classes);
  }

  /** Whether it is known what is asked for. Without permission to read classes names have to do. */
  get settled(): boolean {
    const classesKnown = this.#classes.synced || this.watch("ingressclasses").state === "refused";
    return this.#ingresses.synced && classesKnown;
  }

  /** Begins to list and watch; a second call does nothing. */
  start(): void {
    this.#ingresses.start();
    this.#classes.start();
  }

  /** Resolves when nothing of it goes on any more. Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    await Promise.all([this.#ingresses.stop(), this.#classes.stop()]);
  }

  #tell(ingresses: readonly Ingress[]): void {
    if (this.#followers.size === 0) return;
    for (const { metadata } of ingresses) {
      for (const follower of this.#followers) follower(objectKey(metadata));
    }
  }
}

function asksAnew(change: Change<Ingress>): boolean {
  if (change.type !== "updated") return true;
  return !isDeepStrictEqual(asked(change.previous), asked(change.object));
}

function asked({ metadata, annotations, ingressClassName, defaultBackend, rules, tls }: Ingress) {
  const { deletionTimestamp } = metadata;
  return { deletionTimestamp, annotations, ingressClassName, defaultBackend, rules, tls };
}
