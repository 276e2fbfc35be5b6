// The TLS secrets that routes refer to, and no others: each is watched by its name, so that a role may
// allow just these. Beyond some tens of them one watch of all TLS secrets costs the API server less,
// and takes their place.
// Invariant: a secret that nobody wants has no watch of its own.
import type { Registry } from "prom-client";
import type { Environment } from "../environment/environment.ts";
import type { CancelTimer } from "../environment/timers.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { splitObjectKey } from "../kube/kinds/kind.ts";
import { type Secret, secretKind, tlsSecretType } from "../kube/kinds/secret.ts";
import { Reflector } from "../kube/reflector/reflector.ts";
import { checkedCertificate } from "./checked-certificate.ts";
import { watchStatus } from "./watch-status.ts";

export interface SecretReference {
  readonly namespace: string;
  readonly name: string;
}

/** A secret as far as it is known. */
export type KnownSecret =
  | { readonly kind: "present"; readonly secret: Secret }
  /** There is none of this name that is for TLS. */
  | { readonly kind: "absent" }
  /** Not read yet. */
  | { readonly kind: "unread" }
  | { readonly kind: "refused"; readonly detail: string };

export interface SecretSourceOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  /** Called synchronously: a secret that is wanted may have changed. */
  readonly onSecrets: () => void;
  readonly metrics?: Registry;
}

/** Each watch is a connection to an API server. */
export const maxNamedWatches = 64;

/** How soon it is noticed that a secret may not be read. */
const lookAgainMs = 500;

const isTls = `type=${tlsSecretType}`;

export class SecretSource {
  readonly #options: SecretSourceOptions;
  /** By `namespace/name`. */
  readonly #named = new Map<string, Reflector<Secret>>();
  /** Of all TLS secrets; once there were too many to name it stays. */
  #all: Reflector<Secret> | undefined;
  #wanted: ReadonlySet<string> = new Set();
  readonly #ending = new Set<Promise<void>>();
  #isStopped = false;
  #cancelLook: CancelTimer | undefined;

  constructor(options: SecretSourceOptions) {
    this.#options = options;
  }

  /** From now on these are read, by `namespace/name`, and no others. */
  want(keys: ReadonlySet<string>): void {
    if (this.#isStopped) return;
    this.#wanted = keys;
    if (this.#all === undefined && keys.size > maxNamedWatches) this.#watchAll();
    for (const key of this.#named.keys()) if (!keys.has(key)) this.#end(key);
    if (this.#all === undefined) {
      for (const key of keys) if (!this.#named.has(key)) this.#watchOne(key);
    }
    this.#lookAgain();
  }

  get({ namespace, name }: SecretReference): KnownSecret {
    const reflector = this.#named.get(`${namespace}/${name}`) ?? this.#all;
    if (reflector === undefined) return { kind: "unread" };
    const secret = reflector.store.get(namespace, name);
    if (secret !== undefined) return { kind: "present", secret };
    if (reflector.synced) return { kind: "absent" };
    const { state, detail } = watchStatus(reflector);
    return state === "refused" ? { kind: "refused", detail } : { kind: "unread" };
  }

  /** Whether everything that is wanted was read, as far as it may be. */
  get settled(): boolean {
    return [...this.#wanted].every((key) => this.get(splitObjectKey(key)).kind !== "unread");
  }

  /** Resolves when nothing of it goes on any more. Idempotent. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelLook?.();
    for (const key of this.#named.keys()) this.#end(key);
    await Promise.all([this.#all?.stop(), ...this.#ending]);
  }

  /** A secret that may not be read makes no change, so what is unread is looked at until it is. */
  #lookAgain(): void {
    this.#cancelLook?.();
    if (this.settled) return;
    this.#cancelLook = this.#options.timers.after(lookAgainMs, () => {
      if (this.settled) this.#options.onSecrets();
      else this.#lookAgain();
    });
  }

  #watchOne(key: string): void {
    const { namespace, name } = splitObjectKey(key);
    const fieldSelector = `metadata.name=${name},${isTls}`;
    this.#named.set(key, this.#reflector({ namespace, fieldSelector }));
  }

  /** The watches by name serve until it has listed, so that nothing is missing meanwhile. */
  #watchAll(): void {
    const all = this.#reflector({ fieldSelector: isTls });
    this.#all = all;
    const replace = (): void => {
      for (const key of this.#named.keys()) this.#end(key);
      this.#options.onSecrets();
    };
    all.waitForSync().then(replace, () => undefined);
  }

  #reflector(selection: { namespace?: string; fieldSelector: string }): Reflector<Secret> {
    const { onSecrets, ...options } = this.#options;
    const reflector = new Reflector({
      ...options,
      ...selection,
      kind: secretKind,
      indexes: {},
      handlers: [
        ({ object }) => {
          const { namespace, name } = object.metadata;
          if (!this.#wanted.has(`${namespace}/${name}`)) return;
          // One by one as they come, rather than thousands when routes are decided.
          checkedCertificate(object);
          onSecrets();
        },
      ],
    });
    reflector.start();
    // A secret that does not exist makes no change, but that is news as well.
    reflector.waitForSync().then(onSecrets, () => undefined);
    return reflector;
  }

  #end(key: string): void {
    const reflector = this.#named.get(key);
    this.#named.delete(key);
    if (reflector === undefined) return;
    const ending = reflector.stop().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}
