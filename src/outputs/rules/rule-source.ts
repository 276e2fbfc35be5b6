// The Ingresses of a business cluster, and those of their TLS secrets that the configuration allows to
// be read. No secret is read before an Ingress that is delivered names it.
import type { Registry } from "prom-client";
import { compareText } from "../../decide/compare-text.ts";
import type { RuleOffer } from "../../decide/syncing/rules/plan-rules.ts";
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type Ingress, ingressKind } from "../../kube/kinds/ingress.ts";
import type { Projected } from "../../kube/kinds/kind.ts";
import { secretKind, tlsSecretType } from "../../kube/kinds/secret.ts";
import { Reflector } from "../../kube/reflector/reflector.ts";
import type { KnownBefore } from "../../kube/reflector/reflector-removals.ts";
import { SecretSource } from "../../sources/secret-source.ts";
import { watchStatus } from "../../sources/watch-status.ts";

export interface RuleSourceOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  readonly knownBefore: KnownBefore;
  /** Called synchronously: something of this namespace changed, or perhaps of any. */
  readonly onNamespace: (namespace: string | undefined) => void;
  readonly metrics?: Registry;
}

export class RuleSource {
  readonly cluster: string;
  readonly #ingresses: Reflector<Ingress, "namespace">;
  readonly #secrets: SecretSource;
  /** By namespace, the secrets that its delivered Ingresses name. */
  readonly #wanted = new Map<string, ReadonlySet<string>>();
  readonly #seenAt = new WeakMap<Projected, MonotonicMs>();

  constructor(options: RuleSourceOptions) {
    const { clock, onNamespace, knownBefore, ...others } = options;
    this.cluster = options.cluster;
    this.#ingresses = new Reflector({
      ...others,
      clock,
      knownBefore,
      kind: ingressKind,
      indexes: { namespace: ({ metadata }) => metadata.namespace },
      handlers: [
        ({ object }) => {
          this.#seenAt.set(object, clock.monotonicMs());
          onNamespace(object.metadata.namespace);
        },
      ],
    });
    this.#secrets = new SecretSource({
      ...others,
      clock,
      kind: secretKind,
      ofType: tlsSecretType,
      onSecrets: onNamespace,
    });
  }

  /** Whether the Ingresses have been listed. */
  get isKnown(): boolean {
    return this.#ingresses.synced;
  }

  /** Whether all secrets that are wanted have been read, or may not be. */
  get areSecretsKnown(): boolean {
    return this.#secrets.settled;
  }

  /** Why its Ingresses may be outdated, in words; undefined when they are not. */
  get problem(): string | undefined {
    const { state, detail } = watchStatus(this.#ingresses);
    return state === "fresh" ? undefined : detail;
  }

  offer(namespace: string): RuleOffer {
    return {
      cluster: this.cluster,
      isKnown: this.isKnown,
      ingresses: [...this.#ingresses.store.byIndex("namespace", namespace)],
      secret: (name) => this.#secrets.get({ namespace, name }),
    };
  }

  seenAtMs(namespace: string, name: string): MonotonicMs | undefined {
    const ingress = this.#ingresses.store.get(namespace, name);
    return ingress && this.#seenAt.get(ingress);
  }

  /** From now on these secrets of the namespace are read, and no others of it. */
  wantSecrets(namespace: string, names: ReadonlySet<string>): void {
    const before = this.#wanted.get(namespace) ?? new Set();
    if (before.size === names.size && [...names].every((name) => before.has(name))) return;
    if (names.size === 0) this.#wanted.delete(namespace);
    else this.#wanted.set(namespace, names);
    const keys = [...this.#wanted].flatMap(([of, all]) => [...all].map((name) => `${of}/${name}`));
    this.#secrets.want({ keys: new Set(keys), compare: compareText });
  }

  /** Calls back when the Ingresses have been listed; a cluster without any makes no event. */
  start(onKnown: () => void): void {
    this.#ingresses.start();
    this.#ingresses.waitForSync().then(onKnown, () => undefined);
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    await Promise.all([this.#ingresses.stop(), this.#secrets.stop()]);
  }
}
