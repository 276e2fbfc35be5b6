// The access cluster as the syncer sees it: namespaces, Services and slices, as new as they can be
// known, by the service they belong to.
import type { Registry } from "prom-client";
import { holdsOwn, type TargetState } from "../../decide/syncing/plan-sync.ts";
import { isOwned, isOwnedSlice } from "../../decide/syncing/synced-names.ts";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import {
  type EndpointSlice,
  endpointSliceKind,
  serviceNameOf,
} from "../../kube/kinds/endpoint-slice.ts";
import { objectKey, splitObjectKey } from "../../kube/kinds/kind.ts";
import { type Namespace, namespaceKind } from "../../kube/kinds/namespace.ts";
import { type Service, serviceKind } from "../../kube/kinds/service.ts";
import { publishedForm } from "../../sources/published-form.ts";
import { TargetCollection } from "./target-collection.ts";

export interface SyncTargetOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  /** Something of this service changed, and it is Lockstep's own or stands in its way. */
  readonly onService: (key: string, isOwn: boolean) => void;
  /** A namespace came, changed or went. */
  readonly onNamespace: (name: string) => void;
  readonly metrics?: Registry;
}

/** The API server of the access cluster has no EndpointSlices to write. */
export class TargetTooOldError extends Error {
  override readonly name = "TargetTooOldError";
  readonly code = "TARGET_TOO_OLD";
}

export class SyncTarget {
  readonly cluster: string;
  readonly #options: SyncTargetOptions;
  readonly #namespaces: TargetCollection<Namespace>;
  readonly #services: TargetCollection<Service>;
  readonly #slices: TargetCollection<EndpointSlice>;

  constructor(options: SyncTargetOptions) {
    const { onService, onNamespace } = options;
    this.cluster = options.cluster;
    this.#options = options;
    this.#namespaces = new TargetCollection({
      ...options,
      kind: namespaceKind,
      groupOf: ({ metadata }) => metadata.name,
      onChange: ({ metadata }) => onNamespace(metadata.name),
    });
    this.#services = new TargetCollection({
      ...options,
      kind: serviceKind,
      groupOf: ({ metadata }) => objectKey(metadata),
      onChange: (service) => onService(objectKey(service.metadata), isOwned(service)),
    });
    this.#slices = new TargetCollection({
      ...options,
      kind: endpointSliceKind,
      groupOf: serviceKeyOf,
      onChange: (slice) => {
        const key = serviceKeyOf(slice);
        if (key !== undefined) onService(key, isOwnedSlice(slice));
      },
    });
  }

  get collections() {
    return {
      Namespace: this.#namespaces,
      Service: this.#services,
      EndpointSlice: this.#slices,
    } as const;
  }

  /** By the service's key. */
  state(key: string): TargetState {
    const { namespace } = splitObjectKey(key);
    const slices = this.#slices.group(key);
    return {
      namespace: this.#namespaces.group(namespace)[0],
      service: this.#services.group(key)[0],
      slices,
      isTaken: (name) =>
        this.#slices.isShown(namespace, name) ||
        slices.some((slice) => slice.metadata.name === name),
    };
  }

  holdsOwn(key: string): boolean {
    return holdsOwn(this.state(key));
  }

  /** Why it cannot be written to yet, in words; undefined when it can. */
  waitingFor(): string | undefined {
    const waiting = Object.values(this.collections).filter(({ synced }) => !synced);
    const [first] = waiting;
    if (first === undefined) return undefined;
    return `${first.kind.resource} are not listed yet (${first.condition().message})`;
  }

  /** Begins to watch; resolves when everything is known. Rejects when the signal aborts before. */
  async start(signal: AbortSignal): Promise<void> {
    if ((await publishedForm(this.#options, signal)) === "endpoints") {
      throw new TargetTooOldError(
        `the cluster ${this.cluster} has no EndpointSlices (Kubernetes 1.21 or later has)`,
      );
    }
    const collections = Object.values(this.collections);
    for (const collection of collections) collection.start();
    await Promise.all(collections.map((collection) => collection.waitForSync(signal)));
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    await Promise.all(Object.values(this.collections).map((collection) => collection.stop()));
  }
}

function serviceKeyOf(slice: EndpointSlice): string | undefined {
  const name = serviceNameOf(slice);
  return name === undefined ? undefined : `${slice.metadata.namespace}/${name}`;
}
