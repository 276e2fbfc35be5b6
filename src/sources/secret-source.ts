// The secrets of one use that routes refer to, and no others. Each is watched by its name, so that
// a role may allow just these. If a namespace, or all together, name more than some tens of one
// type, one watch of all secrets of that type costs the API server less. It is tried, and replaces
// the watches by name as soon as it has listed. If it is refused the watches by name stay, and each
// namespace has a bounded number of them. Without a type, secrets are never all read. Invariant: a
// secret that no route wants has no watch of its own, and one that has been read is known until
// another watch knows it.

import type { Registry } from "prom-client";
import { assertCostly } from "../environment/assert.ts";
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
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

export interface WantedSecrets {
  /** By `namespace/name`. */
  readonly keys: ReadonlySet<string>;
  /** Which of two of a namespace is read where there are too many: the lesser. */
  readonly compare: (a: string, b: string) => number;
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
  /** Called synchronously: wanted secrets may have changed, of this namespace or of any. */
  readonly onSecrets: (namespace: string | undefined) => void;
  /** How many objects the watches of an earlier process showed; nothing when absent. */
  readonly knownBefore?: KnownBefore;
  readonly metrics?: Registry;
}

/** Of a namespace: each watch is a connection to an API server. With more names a list is tried. */
export const maxNamedWatches = 64;

const tooMany =
  `the namespace uses more than ${maxNamedWatches} secrets of this kind; ` +
  "the newest are ignored";

/** Of these, in one turn of the event loop: some milliseconds. */
const startsAtOnce = 4;

/** How soon it is noticed that a secret may not be read. */
const lookAgainMs = 500;

/** How soon it is noticed that a list which served is forbidden now. */
const reviewMs = 10_000;

/** A list without an answer for so long does not keep the watches by name waiting. */
const listWithinMs = 5_000;

/** The scope of a list; others are those of a namespace. */
const allNamespaces = "";

interface WideList<S extends Projected> {
  readonly reflector: Reflector<S>;
  readonly triedAt: MonotonicMs;
}

type WideOutcome =
  /** Few enough are wanted to be named. */
  | "untried"
  /** It has not been answered yet. */
  | "undecided"
  | "serves"
  | "unavailable";

export class SecretSource<S extends Projected = Secret> {
  readonly #options: SecretSourceOptions<S>;
  /** By `namespace/name`. */
  readonly #named = new Map<string, Reflector<S>>();
  /** By scope; once there were too many to name it stays while a secret of the scope is wanted. */
  readonly #lists = new Map<string, WideList<S>>();
  #wanted: WantedSecrets = { keys: new Set(), compare: () => 0 };
  /** Those of `#wanted` that their namespace has no more watches for. */
  #beyond: ReadonlySet<string> = new Set();
  /** Made, and started a few at a time. */
  #unstarted: Reflector<S>[] = [];
  readonly #ending = new Set<Promise<void>>();
  #isStopped = false;
  /** Namespaces whose secrets are looked at next, because some were unread, or are beyond now. */
  readonly #due = new Set<string>();
  #look: { readonly afterMs: number; readonly cancel: CancelTimer } | undefined;

  constructor(options: SecretSourceOptions<S>) {
    this.#options = options;
  }

  /** From now on these are read, and no others. */
  want(wanted: WantedSecrets): void {
    if (this.#isStopped) return;
    this.#wanted = wanted;
    this.#lookAgain(this.#arrange());
  }

  get({ namespace, name }: SecretReference): KnownSecret<S> {
    const key = `${namespace}/${name}`;
    const named = this.#named.get(key);
    const lists = [namespace, allNamespaces].flatMap((one) => this.#lists.get(one) ?? []);
    const reflectors = [...(named ? [named] : []), ...lists.map(({ reflector }) => reflector)];
    // The usual case first: thousands are looked up whenever one of them changes.
    const found = reflectors.length === 1 ? reflectors[0]?.store.get(namespace, name) : undefined;
    if (found !== undefined) return { kind: "present", secret: found };
    // One that was refused since it listed still knows what it had read, but not what is gone.
    const serving = reflectors.find(serves);
    for (const { store } of serving === undefined ? reflectors : [serving]) {
      const secret = store.get(namespace, name);
      if (secret !== undefined) return { kind: "present", secret };
    }
    if (serving !== undefined) return { kind: "absent" };
    if (this.#beyond.has(key)) return { kind: "refused", detail: tooMany };
    const { state, detail } = named === undefined ? unread : watchStatus(named);
    return state === "refused" ? { kind: "refused", detail } : { kind: "unread" };
  }

  /** Whether everything that is wanted was read, as far as it may be. */
  get settled(): boolean {
    return this.#unread().size === 0;
  }

  /** Why lists of it were not applied, in words; empty when all of them were. */
  get doubts(): readonly string[] {
    const lists = [...this.#lists.values()].map(({ reflector }) => reflector);
    return [...this.#named.values(), ...lists].flatMap((one) => watchStatus(one).doubt ?? []);
  }

  /** Resolves when nothing of it goes on any more. Idempotent. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#look?.cancel();
    for (const key of this.#named.keys()) this.#end(key);
    for (const scope of this.#lists.keys()) this.#endList(scope);
    await Promise.all(this.#ending);
  }

  /**
   * A secret that may not be read makes no change, nor does a list that is refused: so they are looked
   * at again.
   */
  #lookAgain(news: ReadonlySet<string>): void {
    for (const namespace of [...news, ...this.#unread()]) this.#due.add(namespace);
    const afterMs = this.#due.size > 0 ? lookAgainMs : reviewMs;
    // One that is as soon stays: where others are wanted again and again, they are looked at too.
    if (this.#look?.afterMs === afterMs) return;
    this.#look?.cancel();
    this.#look = undefined;
    if (this.#due.size === 0 && this.#lists.size === 0) return;
    const cancel = this.#options.timers.after(afterMs, () => this.#lookNow());
    this.#look = { afterMs, cancel };
  }

  #lookNow(): void {
    this.#look = undefined;
    const news = this.#arrange();
    const unread = this.#unread();
    const settled = [...this.#due].filter((namespace) => !unread.has(namespace));
    this.#due.clear();
    for (const namespace of settled) this.#options.onSecrets(namespace);
    this.#lookAgain(news);
  }

  /** Namespaces of which a secret was not read yet, and may be. */
  #unread(): ReadonlySet<string> {
    const unread = new Set<string>();
    for (const key of this.#wanted.keys) {
      const reference = splitObjectKey(key);
      const { namespace } = reference;
      if (!unread.has(namespace) && this.get(reference).kind === "unread") unread.add(namespace);
    }
    return unread;
  }

  /** Begins and ends watches; the namespaces of which others than before are beyond the bound. */
  #arrange(): ReadonlySet<string> {
    const named = new Set<string>();
    const beyond = new Set<string>();
    const byNamespace = groupedByNamespace(this.#wanted.keys);
    const ofAll = this.#tryList(allNamespaces, this.#wanted.keys.size);
    for (const scope of this.#lists.keys()) {
      const isOwn = scope !== allNamespaces;
      const isUsed = isOwn ? ofAll !== "serves" && byNamespace.has(scope) : byNamespace.size > 0;
      if (!isUsed) this.#endList(scope);
    }
    for (const [namespace, keys] of byNamespace) {
      const isOpen = ofAll === "untried" || ofAll === "unavailable";
      const outcome = isOpen ? this.#tryList(namespace, keys.length) : ofAll;
      if (outcome === "serves") continue;
      if (outcome === "undecided") {
        for (const key of keys) if (this.#named.has(key)) named.add(key);
        continue;
      }
      if (keys.length > maxNamedWatches) keys.sort(this.#wanted.compare);
      for (const key of keys.slice(0, maxNamedWatches)) named.add(key);
      for (const key of keys.slice(maxNamedWatches)) beyond.add(key);
    }
    for (const key of this.#named.keys()) if (!named.has(key)) this.#end(key);
    for (const key of named) if (!this.#named.has(key)) this.#watchOne(key);
    const areWanted = () => [...this.#named.keys()].every((key) => this.#wanted.keys.has(key));
    assertCostly(areWanted, "a secret is watched while it is wanted", this.#named.size);
    const before = this.#beyond;
    this.#beyond = beyond;
    const others = [...before, ...beyond].filter((key) => before.has(key) !== beyond.has(key));
    return new Set(others.map((key) => splitObjectKey(key).namespace));
  }

  /** The outcome of the list of this scope, which is started if so many are wanted. */
  #tryList(scope: string, wantedCount: number): WideOutcome {
    const { ofType, clock } = this.#options;
    const known = this.#lists.get(scope);
    if (known === undefined) {
      if (ofType === undefined || wantedCount <= maxNamedWatches) return "untried";
      this.#watchAll(scope, ofType);
      return "undecided";
    }
    const { reflector, triedAt } = known;
    if (serves(reflector)) return "serves";
    const isRefused = reflector.synced || watchStatus(reflector).state === "refused";
    const isLate = elapsedMs(triedAt, clock.monotonicMs()) >= listWithinMs;
    return isRefused || isLate ? "unavailable" : "undecided";
  }

  #watchOne(key: string): void {
    const { namespace, name } = splitObjectKey(key);
    const { ofType } = this.#options;
    const fieldSelector = `metadata.name=${name}${ofType === undefined ? "" : `,type=${ofType}`}`;
    this.#named.set(key, this.#reflector({ namespace, fieldSelector }));
  }

  /** The watches by name serve until it has listed, so that nothing is missing meanwhile. */
  #watchAll(scope: string, ofType: string): void {
    const fieldSelector = `type=${ofType}`;
    const reflector = this.#reflector(
      scope === allNamespaces ? { fieldSelector } : { namespace: scope, fieldSelector },
    );
    this.#lists.set(scope, { reflector, triedAt: this.#options.clock.monotonicMs() });
    const replace = (): void => {
      if (!this.#isStopped) this.#lookAgain(this.#arrange());
    };
    reflector.waitForSync().then(replace, () => undefined);
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
          if (!this.#wanted.keys.has(`${namespace}/${name}`)) return;
          onRead?.(object);
          onSecrets(namespace);
        },
      ],
    });
    this.#unstarted.push(reflector);
    if (this.#unstarted.length === 1) void this.#startAll();
    // A secret that does not exist makes no change, but that is news as well.
    reflector.waitForSync().then(
      () => onSecrets(selection.namespace),
      () => undefined,
    );
    return reflector;
  }

  /** One that was stopped meanwhile does not start. */
  async #startAll(): Promise<void> {
    while (this.#unstarted.length > 0) {
      await this.#options.timers.breathe();
      for (const one of this.#unstarted.splice(0, startsAtOnce)) one.start();
    }
  }

  #endList(scope: string): void {
    const list = this.#lists.get(scope);
    this.#lists.delete(scope);
    if (list !== undefined) this.#stop(list.reflector);
  }

  #end(key: string): void {
    const reflector = this.#named.get(key);
    this.#named.delete(key);
    if (reflector !== undefined) this.#stop(reflector);
  }

  #stop(reflector: Reflector<S>): void {
    const ending = reflector.stop().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

const unread = { state: "stale", detail: "" } as const;

/** Whether it knows everything of its scope; not one whose permission was taken away since. */
function serves<S extends Projected>(reflector: Reflector<S>): boolean {
  return reflector.synced && watchStatus(reflector).state !== "refused";
}

function groupedByNamespace(keys: ReadonlySet<string>): ReadonlyMap<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const key of keys) {
    const { namespace } = splitObjectKey(key);
    const group = groups.get(namespace);
    if (group === undefined) groups.set(namespace, [key]);
    else group.push(key);
  }
  return groups;
}
