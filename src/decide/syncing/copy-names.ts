// The names and labels of copies. One form of copying has one set of them: `lockstep sync` names a
// copy as its service, and other forms name theirs otherwise, even beside the service itself. An
// object without the owner's label belongs to another owner, whatever its name.
import { type EndpointSlice, managedByOf } from "../../kube/kinds/endpoint-slice.ts";
import type { StringMap } from "../../kube/kinds/intern.ts";
import type { Projected } from "../../kube/kinds/kind.ts";

export interface CopyNames {
  /** The value of the labels by which the writer recognises its own objects. */
  readonly owner: string;
  /** The name of the copy of a service. */
  targetName(service: string): string;
  /** The reverse; undefined for a name that no copy can have. */
  sourceName(target: string): string | undefined;
  /**
   * Set where copies are in the cluster of their service: the labels of their slices in place of those
   * of copies from another cluster. No cluster is part of their names.
   */
  readonly local?: { readonly sliceLabels: StringMap };
}

const syncOwner = "lockstep.dev";

/** Copies in another cluster, each with the name of its service. */
export const syncNames: CopyNames = {
  owner: syncOwner,
  targetName: (service) => service,
  sourceName: (target) => target,
};

const clusterSetSuffix = "-clusterset";

/**
 * Copies of exported services in a cluster that may have a Service of the same name itself, as the
 * Multi-Cluster Services API has it: they belong to a ServiceImport.
 */
export const clusterSetNames: CopyNames = {
  owner: syncOwner,
  targetName: (service) => `${service}${clusterSetSuffix}`,
  sourceName: (target) =>
    target.endsWith(clusterSetSuffix) ? target.slice(0, -clusterSetSuffix.length) : undefined,
};

/** The mark on Services and Namespaces; slices have a label of their own for it. */
const managedByLabel = "app.kubernetes.io/managed-by";
const sliceManagedByLabel = "endpointslice.kubernetes.io/managed-by";
const serviceNameLabel = "kubernetes.io/service-name";
const sourceClusterLabel = "lockstep.dev/source-cluster";

/** The labels of the Multi-Cluster Services API, for consumers of a ServiceImport. */
const importNameLabel = "multicluster.kubernetes.io/service-name";
const importClusterLabel = "multicluster.kubernetes.io/source-cluster";

/** With it a kube-proxy is not even sent the slice: a headless Service has nothing for it to do. */
const headlessLabel = "service.kubernetes.io/headless";

/** When the change that a copy shows happened, by the source's clock if known. */
export const originTimeAnnotation = "lockstep.dev/origin-time";

export function ownedLabels({ owner }: CopyNames): StringMap {
  return { [managedByLabel]: owner };
}

/** Labels of a slice; undefined for one that it must not have. */
export type SliceLabels = Readonly<Record<string, string | undefined>>;

/** Of the service that a slice belongs to. */
export interface SliceOwner {
  /** The name of the service in its cluster, and that cluster. */
  readonly service: string;
  readonly cluster: string;
  /** Whether the cluster exports the service, so that a ServiceImport has the slice too. */
  readonly isExported?: boolean;
  /** Whether the Service beside the slice has an address, for which proxies have to know it. */
  readonly hasAddress?: boolean;
}

/** Of a slice of the copy of this service. */
export function ownedSliceLabels(names: CopyNames, owner: SliceOwner): SliceLabels {
  const { service, cluster, isExported = false, hasAddress = false } = owner;
  const labels = {
    [serviceNameLabel]: names.targetName(service),
    [sliceManagedByLabel]: names.owner,
  };
  if (names.local !== undefined) return { ...labels, ...names.local.sliceLabels };
  return {
    ...labels,
    [headlessLabel]: hasAddress ? undefined : "",
    [sourceClusterLabel]: cluster,
    [importNameLabel]: isExported ? service : undefined,
    [importClusterLabel]: isExported ? cluster : undefined,
  };
}

/** Whether it is a Service or Namespace that was created under these names. */
export function isOwned({ owner }: CopyNames, { metadata }: Projected): boolean {
  return metadata.labels[managedByLabel] === owner;
}

export function isOwnedSlice({ owner }: CopyNames, slice: EndpointSlice): boolean {
  return managedByOf(slice) === owner;
}

/** Whether Lockstep wrote it, in whatever form: a copy is never copied again. */
export function isCopy({ metadata }: Projected): boolean {
  const writers = [metadata.labels[managedByLabel], metadata.labels[sliceManagedByLabel]];
  return writers.some((one) => one === syncOwner || one?.endsWith(`.${syncOwner}`) === true);
}

/** Of the copy of an Ingress or Secret. */
export function ownedRuleLabels(names: CopyNames, cluster: string): StringMap {
  return { ...ownedLabels(names), [sourceClusterLabel]: cluster };
}

/** The cluster that an owned slice, Ingress or Secret came from. */
export function sourceClusterOf({ metadata }: Projected): string | undefined {
  return metadata.labels[sourceClusterLabel];
}

/**
 * The Service's name comes first because ingress-nginx searches slices by that prefix. Names of two
 * services may be equal (`a` of `b-c`, `a-b` of `c`), so a number is free only if no slice has it.
 */
export function sliceName(
  { local }: CopyNames,
  target: string,
  cluster: string,
  number: number,
): string {
  return local === undefined ? `${target}-${cluster}-${number}` : `${target}-${number}`;
}

/** Part of object names and a label's value, so it must be able to be both. */
export function isClusterName(name: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
}
