// The access cluster as the syncer sees it: namespaces, Services, slices and Endpoints, as new as they
// can be known, by the service they belong to.
import type { Registry } from "prom-client";
import { type CopyNames, isOwned, isOwnedSlice } from "../../decide/syncing/copy-names.ts";
import type { CopyForm } from "../../decide/syncing/plan-endpoints.ts";
import { heldSlices, holdsOwn, type TargetState } from "../../decide/syncing/plan-sync.ts";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import {
  type EndpointSlice,
  endpointSliceKind,
  serviceNameOf,
} from "../../kube/kinds/endpoint-slice.ts";
import { type Endpoints, endpointsKind } from "../../kube/kinds/endpoints.ts";
import { objectKey, type Projected, splitObjectKey } from "../../kube/kinds/kind.ts";
import { type Namespace, namespaceKind } from "../../kube/kinds/namespace.ts";
import { type Service, serviceKind } from "../../kube/kinds/service.ts";
import { publishedForm } from "../../sources/published-form.ts";
import { TargetCollection } from "./target-collection.ts";
import { TargetImports } from "./target-imports.ts";

export interface SyncTargetOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  readonly names: CopyNames;
  /** By discovery when absent: slices, or Endpoints where the cluster has no slices. */
  readonly copyAs?: CopyForm | undefined;
  /** Whether exported services are imported. */
  readonly needsImports?: boolean;
  /** It became known whether there can be imports. */
  readonly onImports?: () => void;
  /** Something of the copy of this service changed, and it is Lockstep's own or stands in its way. */
  readonly onService: (key: string, isOwn: boolean) => void;
  /** The Service of a copy, or one in its place, came, changed or went. */
  readonly onServiceObject?: (namespace: string) => void;
  /** A namespace came, changed or went. */
  readonly onNamespace: (name: string) => void;
  readonly metrics?: Registry;
}

type WatchedCollection = Pick<
  TargetCollection<Projected>,
  "kind" | "synced" | "staleness" | "condition" | "start" | "waitForSync"
>;

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
  readonly #endpoints: TargetCollection<Endpoints>;
  /** Known once `start` has asked the API server. */
  #form: CopyForm = "slices";
  /** Those that this API server has, and that are needed. */
  #watched: readonly WatchedCollection[];
  readonly imports: TargetImports | undefined;

  constructor(options: SyncTargetOptions) {
    const { names, onService, onNamespace } = options;
    const changed = (target: string, isOwn: boolean): void => {
      const key = this.#sourceKey(target);
      if (key !== undefined) onService(key, isOwn);
    };
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
      onChange: (service) => {
        changed(objectKey(service.metadata), isOwned(names, service));
        options.onServiceObject?.(service.metadata.namespace);
      },
    });
    this.#slices = new TargetCollection({
      ...options,
      kind: endpointSliceKind,
      groupOf: serviceKeyOf,
      onChange: (slice) => {
        const key = serviceKeyOf(slice);
        if (key !== undefined) changed(key, isOwnedSlice(names, slice));
      },
    });
    this.#endpoints = new TargetCollection({
      ...options,
      kind: endpointsKind,
      groupOf: ({ metadata }) => objectKey(metadata),
      onChange: (endpoints) => changed(objectKey(endpoints.metadata), isOwned(names, endpoints)),
    });
    this.#watched = [this.#namespaces, this.#services];
    if (options.needsImports === true) {
      this.imports = new TargetImports({
        ...options,
        onChange: (found) => onService(objectKey(found.metadata), isOwned(names, found)),
        onKnown: () => options.onImports?.(),
      });
    }
  }

  /** Without Endpoints where they are not watched: they are only deleted then, by their name. */
  get collections() {
    return {
      Namespace: this.#namespaces,
      Service: this.#services,
      EndpointSlice: this.#slices,
      ...(this.#form === "slices" ? {} : { Endpoints: this.#endpoints }),
    } as const;
  }

  /** Of the copy of a service, by the service's key. */
  state(key: string): TargetState {
    const { namespace, name } = splitObjectKey(key);
    const target = `${namespace}/${this.#options.names.targetName(name)}`;
    const slices = this.#slices.group(target);
    return {
      namespace: this.#namespaces.group(namespace)[0],
      service: this.#services.group(target)[0],
      slices,
      endpoints: this.#form === "slices" ? undefined : this.#endpoints.group(target)[0],
      form: this.#form,
      isTaken: (name) =>
        this.#slices.isShown(namespace, name) ||
        slices.some((slice) => slice.metadata.name === name),
      ...this.#importState(key),
    };
  }

  #importState(key: string): Pick<TargetState, "serviceImport" | "importSupport"> {
    const serviceImport = this.imports?.find(key);
    const importSupport = this.imports?.support;
    return {
      ...(serviceImport === undefined ? {} : { serviceImport }),
      ...(importSupport === undefined ? {} : { importSupport }),
    };
  }

  /** The copied endpoints of a service in the form of slices, of any owner. */
  heldSlices(key: string): readonly EndpointSlice[] {
    return heldSlices(this.#options.names, splitObjectKey(key).name, this.state(key));
  }

  /** Why there is no copy of the service, in words; undefined when there is. */
  obstacle(namespace: string, name: string): string | undefined {
    const place = `${namespace}/${this.#options.names.targetName(name)}`;
    const [service] = this.#services.group(place);
    if (service === undefined) return `the Service ${place} is not synced`;
    if (isOwned(this.#options.names, service)) return undefined;
    return `the Service ${place} of ${this.cluster} was not created by Lockstep`;
  }

  holdsOwn(key: string): boolean {
    return holdsOwn(this.#options.names, this.state(key));
  }

  /** Why its objects may be outdated, in words; undefined when they are not. */
  get staleness(): string | undefined {
    for (const { kind, staleness } of this.#watched) {
      if (staleness !== undefined) return `${kind.resource}: ${staleness}`;
    }
    return undefined;
  }

  /** Why it cannot be written to yet, in words; undefined when it can. */
  waitingFor(): string | undefined {
    const waiting = this.#watched.filter(({ synced }) => !synced);
    const [first] = waiting;
    if (first === undefined) {
      return this.imports?.isSettled === false ? "serviceimports are not listed yet" : undefined;
    }
    return `${first.kind.resource} are not listed yet (${first.condition().message})`;
  }

  /** Begins to watch; resolves when everything is known. Rejects when the signal aborts before. */
  async start(signal: AbortSignal): Promise<void> {
    const { copyAs } = this.#options;
    const hasSlices = (await publishedForm(this.#options, signal)) === "endpointslices";
    if (!hasSlices && copyAs !== undefined && copyAs !== "endpoints") {
      throw new TargetTooOldError(
        `the cluster ${this.cluster} has no EndpointSlices (Kubernetes 1.21 or later has); ` +
          "set copyAs to auto or endpoints",
      );
    }
    this.#form = copyAs ?? (hasSlices ? "slices" : "endpoints");
    this.#watched = [
      ...this.#watched,
      // Also without a use for them: those of an earlier run are removed.
      ...(hasSlices ? [this.#slices] : []),
      ...(this.#form === "slices" ? [] : [this.#endpoints]),
    ];
    for (const collection of this.#watched) collection.start();
    this.imports?.start();
    await Promise.all(this.#watched.map((collection) => collection.waitForSync(signal)));
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    const all = [this.#namespaces, this.#services, this.#slices, this.#endpoints];
    const parts = [...all, ...(this.imports ? [this.imports] : [])];
    await Promise.all(parts.map((part) => part.stop()));
  }

  /** Of the service that an object of this key would be the copy of; undefined for none. */
  #sourceKey(target: string): string | undefined {
    const { namespace, name } = splitObjectKey(target);
    const source = this.#options.names.sourceName(name);
    return source === undefined ? undefined : `${namespace}/${source}`;
  }
}

function serviceKeyOf(slice: EndpointSlice): string | undefined {
  const name = serviceNameOf(slice);
  return name === undefined ? undefined : `${slice.metadata.namespace}/${name}`;
}
