// The writes that make the access cluster show one service as the business clusters offer it.
// Correct objects and objects of other owners are not written, and nothing is removed for a cluster
// that is not known yet.
import type { EndpointSlice } from "../../kube/kinds/endpoint-slice.ts";
import type { Endpoints } from "../../kube/kinds/endpoints.ts";
import type { Namespace } from "../../kube/kinds/namespace.ts";
import type { Service } from "../../kube/kinds/service.ts";
import type { ServiceImport } from "../../kube/kinds/service-import.ts";
import {
  type CopyNames,
  isOwned,
  isOwnedSlice,
  ownedLabels,
  sourceClusterOf,
} from "./copy-names.ts";
import { byPrecedence, type MergedExports, mergeExports } from "./merge-exports.ts";
import { type CopyForm, planEndpoints, slicesOfEndpoints, sourcesOf } from "./plan-endpoints.ts";
import {
  exportersOf,
  type ImportForm,
  type ImportSupport,
  importReference,
  isOwnedImport,
  planDerivedService,
  planImport,
} from "./plan-import.ts";
import { planService } from "./plan-service.ts";
import { planSlices } from "./plan-slices.ts";
import { exportedOf, type ServiceOffer } from "./service-offer.ts";
import type { SyncPolicy } from "./sync-policy.ts";
import { deletion, type SyncWrite } from "./sync-write.ts";

export interface SyncInput {
  readonly namespace: string;
  /** The service's in the business clusters. */
  readonly name: string;
  /** One for each business cluster, in the order of preference. */
  readonly offers: readonly ServiceOffer[];
  readonly target: TargetState;
  readonly policy: Pick<SyncPolicy, "createNamespaces" | "forgottenClusters" | "names" | "imports">;
}

/** The objects of the service in the access cluster, of any owner. */
export interface TargetState {
  readonly namespace: Namespace | undefined;
  readonly service: Service | undefined;
  readonly slices: readonly EndpointSlice[];
  /** Undefined also where Endpoints are not written. */
  readonly endpoints: Endpoints | undefined;
  readonly form: CopyForm;
  /** Whether the namespace holds a slice of that name. */
  readonly isTaken: (sliceName: string) => boolean;
  readonly serviceImport?: ServiceImport;
  /** Undefined where there is no such kind, or no permission. */
  readonly importSupport?: ImportSupport;
}

export interface SyncPlan {
  /** In the order in which they have to be made. */
  readonly writes: readonly SyncWrite[];
  /** Why nothing is written though something should be, in words. */
  readonly blocked: string | undefined;
  /** Why the ServiceImport alone is not written, in words. */
  readonly importBlocked?: string;
}

const nothing: SyncPlan = { writes: [], blocked: undefined };

export function planSync(input: SyncInput): SyncPlan {
  const { namespace, name, offers, target, policy } = input;
  const { names, imports = "none" } = policy;
  const ownSlices = target.slices.filter((slice) => isOwnedSlice(names, slice)).sort(byName);
  const ownEndpoints = ownEndpointsOf(names, target);
  const owned = target.form === "endpoints" ? heldSlices(names, name, target) : ownSlices;
  const isOffered = offers.some(({ service }) => service !== undefined);
  if (!isOffered && !holdsOwn(names, target)) return nothing;
  const merged = imports === "none" ? undefined : mergeExports(exportedOf(offers));
  const importBlocked = importObstacle(input, merged);
  const blocked = obstacle(input) ?? (imports === "derived" ? importBlocked : undefined);
  if (blocked !== undefined) return { writes: [], blocked };
  const known = offers.filter((offer) => offer.isKnown);
  const { forgottenClusters = new Set() } = policy;
  const isForgotten = (slice: EndpointSlice) => forgottenClusters.has(sourceClusterOf(slice) ?? "");
  const outdated = target.form === "endpoints" ? ownSlices : [];
  const forgotten = (target.form === "endpoints" ? [] : owned)
    .filter(isForgotten)
    .map((slice) =>
      deletion(
        "EndpointSlice",
        slice.metadata,
        `${sourceClusterOf(slice)} is removed with --forget`,
      ),
    );
  const listed = known.filter(({ isRemembered }) => isRemembered !== true);
  const knownClusters = new Set<string | undefined>(listed.map(({ cluster }) => cluster));
  const isUsed = (slice: EndpointSlice) =>
    !knownClusters.has(sourceClusterOf(slice)) && !isForgotten(slice);
  const isStillUsed = [...owned, ...outdated].some(isUsed);
  const unneeded = outdated
    .filter((slice) => !isUsed(slice))
    .map((slice) => deletion("EndpointSlice", slice.metadata, "the Endpoints have its endpoints"));
  const { serviceImport } = target;
  const ownImport = isOwnedImport(names, serviceImport) ? serviceImport : undefined;
  const exporters = ownImport === undefined ? [] : exportersOf(ownImport);
  const isUnclear = exporters.some(
    (cluster) => !knownClusters.has(cluster) && !forgottenClusters.has(cluster),
  );
  const place = { namespace, names, merged };
  const derivedName = names.targetName(name);
  const service =
    imports === "derived"
      ? isUnclear
        ? []
        : planDerivedService({ ...place, name: derivedName, present: target.service, isStillUsed })
      : planService({
          namespace,
          name: derivedName,
          names,
          offers: inPrecedence(offers, imports),
          service: target.service,
          isStillUsed,
        });
  // Its address is part of it, and the addresses of a Service come with the API server's answer.
  const awaitsAddress = imports === "derived" && merged !== undefined && service.length > 0;
  const imported =
    isUnclear || importBlocked !== undefined || awaitsAddress
      ? []
      : planImport({
          ...place,
          name,
          present: ownImport,
          support: target.importSupport,
          addresses: imports === "derived" ? target.service : undefined,
        });
  // Slices refer to the import, so the first ones wait until it is there.
  const awaitsImport =
    imports === "derived" && ownImport === undefined && target.importSupport !== undefined;
  const owner =
    imports === "derived" && ownImport !== undefined && target.importSupport !== undefined
      ? { owner: importReference(ownImport, target.importSupport) }
      : {};
  const endpoints =
    target.form === "slices"
      ? []
      : planEndpoints({
          namespace,
          name: derivedName,
          names,
          offers,
          endpoints: ownEndpoints,
          forgottenClusters,
        });
  const slices = (target.form === "endpoints" ? [] : known).flatMap((offer) =>
    planSlices({
      namespace,
      name,
      names,
      offer,
      slices: owned.filter((slice) => sourceClusterOf(slice) === offer.cluster),
      isTaken: target.isTaken,
      isExported: imports !== "none" && offer.serviceExport !== undefined,
      hasAddress: imports === "derived" && merged?.type === "ClusterSetIP",
      ...owner,
    }).filter(({ type }) => type !== "create" || !awaitsImport || merged === undefined),
  );
  const writes = [
    ...planNamespace(input),
    ...service,
    ...slices,
    ...endpoints,
    ...forgotten,
    ...unneeded,
  ];
  return {
    // Endpoints never wait for an import.
    writes: [...inOrder(writes), ...imported],
    blocked: undefined,
    ...(importBlocked === undefined ? {} : { importBlocked }),
  };
}

/** Whether the access cluster holds anything of the service that Lockstep made. */
export function holdsOwn(names: CopyNames, target: TargetState): boolean {
  const { service, slices, serviceImport } = target;
  return (
    (service !== undefined && isOwned(names, service)) ||
    slices.some((slice) => isOwnedSlice(names, slice)) ||
    ownEndpointsOf(names, target) !== undefined ||
    isOwnedImport(names, serviceImport)
  );
}

/** The copied endpoints of the service: its slices, or those that its Endpoints stand for. */
export function heldSlices(
  names: CopyNames,
  name: string,
  target: TargetState,
): readonly EndpointSlice[] {
  if (target.form !== "endpoints") return target.slices;
  const own = ownEndpointsOf(names, target);
  return own === undefined ? [] : slicesOfEndpoints(own, names, name);
}

function ownEndpointsOf(names: CopyNames, { endpoints }: TargetState): Endpoints | undefined {
  return endpoints !== undefined && isOwned(names, endpoints) ? endpoints : undefined;
}

/** Of an imported service the Service has the ports that the import has: those of the oldest export. */
function inPrecedence(
  offers: readonly ServiceOffer[],
  imports: ImportForm,
): readonly ServiceOffer[] {
  if (imports === "none") return offers;
  const exporters = exportedOf(offers)
    .toSorted(byPrecedence)
    .map(({ cluster }) => cluster);
  const place = ({ cluster }: ServiceOffer) => {
    const index = exporters.indexOf(cluster);
    return index === -1 ? exporters.length : index;
  };
  return offers.toSorted((one, other) => place(one) - place(other));
}

/** While one is there nothing is written, and nothing taken away either. */
function obstacle({ namespace, name, offers, target, policy }: SyncInput): string | undefined {
  const { service, endpoints } = target;
  const targetName = policy.names.targetName(name);
  if (targetName.length > serviceNameLengthMax) {
    return `the name ${targetName} would be longer than ${serviceNameLengthMax} characters`;
  }
  if (service !== undefined && !isOwned(policy.names, service)) {
    return `Service ${namespace}/${service.metadata.name} exists and was not created by Lockstep`;
  }
  if (endpoints !== undefined) {
    const place = `Endpoints ${namespace}/${endpoints.metadata.name}`;
    if (!isOwned(policy.names, endpoints)) return `${place} exists and was not created by Lockstep`;
    const ours = new Set([
      ...offers.map(({ cluster }) => cluster),
      ...(policy.forgottenClusters ?? []),
    ]);
    const other = [...sourcesOf(endpoints).keys()].find((cluster) => !ours.has(cluster));
    if (other !== undefined) {
      return `${place} has endpoints of ${other}, which is in no source; use --forget ${other}`;
    }
  }
  if (target.namespace === undefined) {
    return policy.createNamespaces
      ? undefined
      : `the access cluster has no namespace ${namespace}; use --create-namespaces to create it`;
  }
  return target.namespace.metadata.deletionTimestamp === undefined
    ? undefined
    : `the namespace ${namespace} is being deleted`;
}

/** Of a Service, which is a DNS label. */
const serviceNameLengthMax = 63;

function importObstacle(
  { namespace, name, target, policy }: SyncInput,
  merged: MergedExports | undefined,
): string | undefined {
  const { serviceImport } = target;
  if (merged === undefined || serviceImport === undefined) return undefined;
  if (isOwnedImport(policy.names, serviceImport)) return undefined;
  return `ServiceImport ${namespace}/${name} exists and was not created by Lockstep`;
}

/** Made when it is missing, and never deleted: others may have put their things into it. */
function planNamespace({ namespace, offers, target, policy }: SyncInput): readonly SyncWrite[] {
  const isOffered = offers.some(({ service }) => service !== undefined);
  if (target.namespace !== undefined || !isOffered) return [];
  const object = {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace, labels: ownedLabels(policy.names) },
  };
  const summary = "an offered service is in it";
  return [{ type: "create", kind: "Namespace", namespace: "", name: namespace, object, summary }];
}

function byName(a: EndpointSlice, b: EndpointSlice): number {
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

/** Creations and updates come before deletions. */
function inOrder(writes: readonly SyncWrite[]): readonly SyncWrite[] {
  return writes.toSorted((a, b) => Number(a.type === "delete") - Number(b.type === "delete"));
}
