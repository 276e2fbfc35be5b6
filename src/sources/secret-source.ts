// The secrets of one use that routes refer to, and no others: each is watched by its name, so that a
// role may allow just these. Beyond some tens of them one watch of all secrets of their type costs the
// API server less, and takes their place; secrets of no type of their own are never read all.
// Invariant: a secret that nobody wants has no watch of its own.
import type { Registry } from "prom-client";
import type { Environment } from "../environment/environment.ts";
import type { CancelTimer } from "../environment/timers.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type Kind, type Projected, splitObjectKey } from "../kube/kinds/kind.ts";
import type { Secret } from "../kube/kinds/secret.ts";
import { Reflector } from "../kube/reflector/reflector.ts";
import type { KnownBefore } from "../kube/reflector/reflector-removals.ts";
import { watchStatus } from "./watch-status.ts";

export interface SecretReference {
  readonly namespace: string;
  readonly name: string;
}

/** A secret as far as it is known. */
export type KnownSecret<S extends Projected = Secret> =
  | { readonly kind: "present"; readonly secret: S }
  /** There is none of this name and type. */
  | { readonly kind: "absent" }
  /** Not read yet. */
  | { readonly kind: "unread" }
  | { readonly kind: "refused"; readonly detail: string };

export interface SecretSourceOptions<S extends Projected>
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  readonly kind: Kind<S>;
  /** Only secrets of this type are looked at; without it those of any. */
  readonly ofType?: string;
  /** One by one as they come, rather than thousands when routes are decided. */
  readonly onRead?: (secret: S) => void;
  /** Called synchronously: a secret that is wanted may have changed. */
  readonly onSecrets: () => void;
  /** How many objects the watches of an earlier process showed; nothing when absent. */
  readonly knownBefore?: KnownBefore;
  readonly metrics?: Registry;
}

/** Each watch is a connection to an API server. */
export const maxNamedWatches = 64;

const tooMany = `Ingresses name more than ${maxNamedWatches} secrets of this kind`;

/** How soon it is noticed that a secret may not be read. */
const lookAgainMs = 500;

export class SecretSource<S extends Projected = Secret> {
  readonly #options: SecretSourceOptions<S>;
  /** By `namespace/name`. */
  readonly #named = new Map<string, Reflector<S>>();
  /** Of all secrets of the type; once there were too many to name it stays. */
  #all: Reflector<S> | undefined;
  #wanted: ReadonlySet<string> = new Set();
  readonly #ending = new Set<Promise<void>>();
  #isStopped = false;
  #cancelLook: CancelTimer | undefined;

  constructor(options: SecretSourceOptions<S>) {
    this.#options = options;
  }

  /** From now on these are read, by `namespace/name`, and no others. */
  want(keys: ReadonlySet<string>): void {
    if (this.#isStopped) return;
    this.#wanted = keys;
    const { ofType } = this.#options;
    const areMany = keys.size > maxNamedWatches;
    if (this.#all === undefined && areMany && ofType !== undefined) this.#watchAll(ofType);
    for (const key of this.#named.keys()) if (!keys.has(key)) this.#end(key);
    if (this.#all === undefined) {
      for (const key of keys) {
        if (!this.#named.has(key) && this.#named.size < maxNamedWatches) this.#watchOne(key);
      }
    }
    this.#lookAgain();
  }

  get({ namespace, name }: SecretReference): KnownSecret<S> {
    const key = `${namespace}/${name}`;
    const reflector = this.#named.get(key) ?? this.#all;
    if (reflector === undefined) {
      return this.#wanted.has(key) ? { kind: "refused", detail: tooMany } : { kind: "unread" };
    }
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
    const { ofType } = this.#options;
    const fieldSelector = `metadata.name=${name}${ofType === undefined ? "" : `,type=${ofType}`}`;
    this.#named.set(key, this.#reflector({ namespace, fieldSelector }));
  }

  /** The watches by name serve until it has listed, so that nothing is missing meanwhile. */
  #watchAll(ofType: string): void {
    const all = this.#reflector({ fieldSelector: `type=${ofType}` });
    this.#all = all;
    const replace = (): void => {
      for (const key of this.#named.keys()) this.#end(key);
      this.#options.onSecrets();
    };
    all.waitForSync().then(replace, () => undefined);
  }

  #reflector(selection: { namespace?: string; fieldSelector: string }): Reflector<S> {
    const { onSecrets, onRead, ...options } = this.#options;
    const reflector = new Reflector({
      ...options,
      ...selection,
      indexes: {},
      handlers: [
        ({ object }) => {
          const { namespace, name } = object.metadata;
          if (!this.#wanted.has(`${namespace}/${name}`)) return;
          onRead?.(object);
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
