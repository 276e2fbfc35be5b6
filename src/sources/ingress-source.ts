// The Ingresses and IngressClasses of the access cluster: the requested routes. A change of an
// Ingress's status, which the leader itself writes, changes no route. An Ingress of a namespace
// that is being deleted is shown as being deleted too. The namespace keeps it until its last pod
// has ended, although it is no longer needed.

import { isDeepStrictEqual } from "node:util";
import type { Registry } from "prom-client";
import type { Environment } from "../environment/environment.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type Ingress, ingressKind } from "../kube/kinds/ingress.ts";
import { type IngressClass, ingressClassKind } from "../kube/kinds/ingress-class.ts";
import type { StringMap } from "../kube/kinds/intern.ts";
import { objectKey } from "../kube/kinds/kind.ts";
import { type Namespace, namespaceKind } from "../kube/kinds/namespace.ts";
import { Reflector } from "../kube/reflector/reflector.ts";
import type { KnownBefore } from "../kube/reflector/reflector-removals.ts";
import type { Change } from "../kube/store/store-change.ts";
import { type WatchStatus, watchStatus } from "./watch-status.ts";

/** A reason to decide routes again. */
export interface InputChange {
  readonly namespace: string;
  /** About in proportion to the work. */
  readonly size: number;
}

export interface IngressSourceOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  /** Called synchronously when the requested routes may have changed, of one Ingress or of any. */
  readonly onRoutes: (change?: InputChange) => void;
  /** Called synchronously when labels of a namespace changed, or one came or went. */
  readonly onLabels?: () => void;
  /** How many objects the watches of an earlier process showed; nothing when absent. */
  readonly knownBefore?: KnownBefore;
  readonly metrics?: Registry;
}

/** The watched resources, as the API server names them. */
export const askedWatches = ["ingresses", "ingressclasses", "namespaces"] as const;

export type AskedWatch = (typeof askedWatches)[number];

export class IngressSource {
  readonly cluster: string;
  readonly #ingresses: Reflector<Ingress>;
  readonly #classes: Reflector<IngressClass>;
  readonly #namespaces: Reflector<Namespace>;
  /** By name, the namespaces that are being deleted. */
  readonly #leaving = new Map<string, Namespace>();
  /** Of each version of an Ingress in such a namespace, what is shown: always the same object. */
  readonly #shown = new WeakMap<Ingress, Ingress>();
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
          if (hasNewInputs(change)) onRoutes(inputChange(change));
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
    this.#namespaces = new Reflector({
      ...options,
      kind: namespaceKind,
      indexes: {},
      handlers: [
        (change) => {
          if (this.#hasLeavingChanged(change)) onRoutes();
          if (hasNewLabels(change)) options.onLabels?.();
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
    const all = this.#ingresses.store.snapshot();
    return this.#leaving.size === 0 ? all : all.map((ingress) => this.#shownAs(ingress));
  }

  /** Undefined for a namespace that is not known. */
  labelsOf(namespace: string): StringMap | undefined {
    return this.#namespaces.store.get("", namespace)?.metadata.labels;
  }

  classes(): readonly IngressClass[] {
    return this.#classes.store.snapshot();
  }

  watch(name: AskedWatch): WatchStatus {
    if (name === "ingresses") return watchStatus(this.#ingresses);
    return name === "namespaces" ? watchStatus(this.#namespaces) : watchStatus(this.#classes);
  }

  /**
   * Whether the requested routes are known. Without permission to read classes, their names are
   * used. Namespaces that are being deleted only decide conflicts, and are not waited for.
   */
  get settled(): boolean {
    const classesKnown = this.#classes.synced || this.watch("ingressclasses").state === "refused";
    return this.#ingresses.synced && classesKnown;
  }

  /** Begins to list and watch; a second call does nothing. */
  start(): void {
    this.#ingresses.start();
    this.#classes.start();
    this.#namespaces.start();
  }

  /** Resolves when nothing of it goes on any more. Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    const watches = [this.#ingresses, this.#classes, this.#namespaces];
    await Promise.all(watches.map((watch) => watch.stop()));
  }

  /** Whether Ingresses of the namespace are shown otherwise than before. */
  #hasLeavingChanged({ type, object }: Change<Namespace>): boolean {
    const { name, deletionTimestamp } = object.metadata;
    const wasLeaving = this.#leaving.delete(name);
    const isLeaving = type !== "deleted" && deletionTimestamp !== undefined;
    if (isLeaving) this.#leaving.set(name, object);
    return isLeaving !== wasLeaving;
  }

  #shownAs(ingress: Ingress): Ingress {
    const { metadata } = ingress;
    const { deletionTimestamp } = this.#leaving.get(metadata.namespace)?.metadata ?? {};
    if (deletionTimestamp === undefined || metadata.deletionTimestamp !== undefined) return ingress;
    const shown = this.#shown.get(ingress) ?? {
      ...ingress,
      metadata: { ...metadata, deletionTimestamp },
    };
    this.#shown.set(ingress, shown);
    return shown;
  }

  #tell(ingresses: readonly Ingress[]): void {
    if (this.#followers.size === 0) return;
    for (const { metadata } of ingresses) {
      for (const follower of this.#followers) follower(objectKey(metadata));
    }
  }
}

function hasNewLabels(change: Change<Namespace>): boolean {
  if (change.type !== "updated") return true;
  return !isDeepStrictEqual(change.previous.metadata.labels, change.object.metadata.labels);
}

/** Of rules, paths and tls entries. To compare more takes longer than to read the event did. */
const maxCompared = 500;

/** A large one may have: the decision finds out, in slices. */
function hasNewInputs(change: Change<Ingress>): boolean {
  if (change.type !== "updated" || sizeOf(change.object) > maxCompared) return true;
  return !isDeepStrictEqual(ingressInputs(change.previous), ingressInputs(change.object));
}

/** Both versions are work: what one of them brings the other takes away. */
function inputChange(change: Change<Ingress>): InputChange {
  const { object } = change;
  const before = change.type === "updated" ? sizeOf(change.previous) : 0;
  return { namespace: object.metadata.namespace, size: 1 + before + sizeOf(object) };
}

function sizeOf({ rules, tls }: Ingress): number {
  return rules.reduce((sum, { paths }) => sum + paths.length, rules.length + tls.length);
}

function ingressInputs({
  metadata,
  annotations,
  ingressClassName,
  defaultBackend,
  rules,
  tls,
}: Ingress) {
  const { deletionTimestamp } = metadata;
  return { deletionTimestamp, annotations, ingressClassName, defaultBackend, rules, tls };
}
