// The Ingresses of the access cluster, and the TLS secrets there that the configuration names.
import type { Registry } from "prom-client";
import { type CopyNames, isOwned, sourceClusterOf } from "../../decide/syncing/copy-names.ts";
import type { RuleTargetState } from "../../decide/syncing/rules/plan-rules.ts";
import type { SecretConsent } from "../../decide/syncing/rules/rule-settings.ts";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isRecord, recordAt } from "../../kube/kinds/fields.ts";
import { type Ingress, ingressKind } from "../../kube/kinds/ingress.ts";
import type { Projected } from "../../kube/kinds/kind.ts";
import { type Secret, secretKind, tlsSecretType } from "../../kube/kinds/secret.ts";
import type { WrittenCollection } from "../slices/sync-writer.ts";
import { TargetCollection } from "../slices/target-collection.ts";

export interface RuleTargetOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  readonly names: CopyNames;
  readonly tlsSecrets: readonly SecretConsent[];
  /** Something of the namespace changed; `isOwn` when it is of this Lockstep. */
  readonly onNamespace: (namespace: string, isOwn: boolean) => void;
  readonly metrics?: Registry;
}

interface SecretWatch {
  readonly consent: SecretConsent;
  readonly secrets: TargetCollection<Secret>;
}

export class RuleTarget {
  readonly cluster: string;
  readonly #ingresses: TargetCollection<Ingress>;
  /** One for each that is named, and one for each namespace that is named as a whole. */
  readonly #secrets: readonly SecretWatch[];

  constructor(options: RuleTargetOptions) {
    const { names, tlsSecrets, onNamespace, ...others } = options;
    this.cluster = options.cluster;
    const common = {
      ...others,
      groupOf: ({ metadata }: Projected) => metadata.namespace,
      onChange: (object: Projected) =>
        onNamespace(object.metadata.namespace, isOwned(names, object)),
    };
    this.#ingresses = new TargetCollection({ ...common, kind: ingressKind });
    this.#secrets = withoutCovered(tlsSecrets).map((consent) => ({
      consent,
      secrets: new TargetCollection({
        ...common,
        kind: secretKind,
        namespace: consent.namespace,
        fieldSelector:
          consent.name === "*" ? `type=${tlsSecretType}` : `metadata.name=${consent.name}`,
      }),
    }));
  }

  get collections(): { readonly Ingress: WrittenCollection; readonly Secret: WrittenCollection } {
    return {
      Ingress: this.#ingresses,
      Secret: {
        kind: secretKind,
        note: (raw) => {
          const { namespace, name } = isRecord(raw) ? recordAt(raw, "metadata") : {};
          const watch = this.#watchOf(String(namespace), String(name));
          return watch?.secrets.note(raw) ?? "";
        },
        noteGone: (namespace, name) => {
          this.#watchOf(namespace, name)?.secrets.noteGone(namespace, name);
        },
      },
    };
  }

  /** Whether the Ingresses have been listed. */
  get isKnown(): boolean {
    return this.#ingresses.synced;
  }

  /** Whether everything has been listed, or may not be read. */
  get isSettled(): boolean {
    const all = [this.#ingresses, ...this.#secrets.map(({ secrets }) => secrets)];
    return all.every((one) => one.synced || one.condition().type === "refused");
  }

  /** Why its Ingresses may be outdated or cannot be read, in words; undefined when they are not. */
  get problem(): string | undefined {
    if (this.isKnown) return this.#ingresses.staleness;
    return this.#ingresses.condition().message;
  }

  state(namespace: string): RuleTargetState {
    return {
      ingresses: this.#ingresses.group(namespace),
      secrets: this.#secrets.flatMap(({ secrets }) => secrets.group(namespace)),
      secretProblem: (name) => {
        const { secrets } = this.#watchOf(namespace, name) ?? {};
        if (secrets === undefined || secrets.synced) return undefined;
        return `it cannot be read in ${this.cluster} (${secrets.condition().message})`;
      },
    };
  }

  copiesOf(cluster: string, namespace: string): number {
    const all = this.#ingresses.group(namespace);
    return all.filter((one) => sourceClusterOf(one) === cluster).length;
  }

  /** Resolves when everything that can be read was listed; rejects when the signal aborts before. */
  async start(signal: AbortSignal, onSecrets: (namespace: string) => void): Promise<void> {
    this.#ingresses.start();
    for (const { consent, secrets } of this.#secrets) {
      secrets.start();
      secrets.waitForSync(signal).then(
        () => onSecrets(consent.namespace),
        () => undefined,
      );
    }
    await this.#ingresses.waitForSync(signal);
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    const all = [this.#ingresses, ...this.#secrets.map(({ secrets }) => secrets)];
    await Promise.all(all.map((one) => one.stop()));
  }

  #watchOf(namespace: string, name: string): SecretWatch | undefined {
    return this.#secrets.find(
      ({ consent }) =>
        consent.namespace === namespace && (consent.name === "*" || consent.name === name),
    );
  }
}

/** A namespace that is named as a whole covers its names. */
function withoutCovered(consents: readonly SecretConsent[]): readonly SecretConsent[] {
  const whole = new Set(consents.filter(({ name }) => name === "*").map((one) => one.namespace));
  const unique = new Map(
    consents
      .filter(({ namespace, name }) => name === "*" || !whole.has(namespace))
      .map((one) => [`${one.namespace}/${one.name}`, one]),
  );
  return [...unique.values()];
}
