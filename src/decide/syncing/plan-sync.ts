// The writes that make the access cluster show one service as the business clusters offer it.
// Correct objects and objects of other owners are not written, and nothing is removed for a cluster
// that is not known yet.
import type { EndpointSlice } from "../../kube/kinds/endpoint-slice.ts";
import type { Endpoints } from "../../kube/kinds/endpoints.ts";
import type { Namespace } from "../../kube/kinds/namespace.ts";
import type { Service } from "../../kube/kinds/service.ts";
import {
  type CopyNames,
  isOwned,
  isOwnedSlice,
  ownedLabels,
  sourceClusterOf,
} from "./copy-names.ts";
import { type CopyForm, planEndpoints, slicesOfEndpoints, sourcesOf } from "./plan-endpoints.ts";
import { planService } from "./plan-service.ts";
import { planSlices } from "./plan-slices.ts";
import type { ServiceOffer } from "./service-offer.ts";
import type { SyncPolicy } from "./sync-policy.ts";
import { deletion, type SyncWrite } from "./sync-write.ts";

export interface SyncInput {
  readonly namespace: string;
  /** The service's in the business clusters. */
  readonly name: string;
  /** One for each business cluster, in the order of preference. */
  readonly offers: readonly ServiceOffer[];
  readonly target: TargetState;
  readonly policy: Pick<SyncPolicy, "createNamespaces" | "forgottenClusters" | "names">;
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
}

export interface SyncPlan {
  /** In the order in which they have to be made. */
  readonly writes: readonly SyncWrite[];
  /** Why nothing is written though something should be, in words. */
  readonly blocked: string | undefined;
}

const nothing: SyncPlan = { writes: [], blocked: undefined };

export function planSync(input: SyncInput): SyncPlan {
  const { namespace, name, offers, target, policy } = input;
  const { names } = policy;
  const ownSlices = target.slices.filter((slice) => isOwnedSlice(names, slice)).sort(byName);
  const ownEndpoints = ownEndpointsOf(names, target);
  const owned = target.form === "endpoints" ? heldSlices(names, name, target) : ownSlices;
  const isOffered = offers.some(({ service }) => service !== undefined);
  if (!isOffered && !holdsOwn(names, target)) return nothing;
  const blocked = obstacle(input);
  if (blocked !== undefined) return { writes: [], blocked };
  const known = offers.filter((offer) => offer.isKnown);
  const slices = (target.form === "endpoints" ? [] : known).flatMap((offer) => {
    const ofCluster = owned.filter((slice) => sourceClusterOf(slice) === offer.cluster);
    return planSlices({
      namespace,
      name,
      names,
      offer,
      slices: ofCluster,
      isTaken: target.isTaken,
    });
  });
  const { forgottenClusters = new Set() } = policy;
  const isForgotten = (slice: EndpointSlice) => forgottenClusters.has(sourceClusterOf(slice) ?? "");
  const outdated = target.form === "endpoints" ? ownSlices : [];
  const unneeded = outdated.map((slice) =>
    deletion("EndpointSlice", slice.metadata, "the Endpoints have its endpoints"),
  );
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
  const service = planService({
    namespace,
    name: names.targetName(name),
    names,
    offers,
    service: target.service,
    isStillUsed: owned.some(
      (slice) => !knownClusters.has(sourceClusterOf(slice)) && !isForgotten(slice),
    ),
  });
  const endpoints =
    target.form === "slices"
      ? []
      : planEndpoints({
          namespace,
          name: names.targetName(name),
          names,
          offers,
          endpoints: ownEndpoints,
          forgottenClusters,
        });
  const writes = [
    ...planNamespace(input),
    ...service,
    ...slices,
    ...endpoints,
    ...forgotten,
    ...unneeded,
  ];
  return { writes: inOrder(writes), blocked: undefined };
}

/** Whether the access cluster holds anything of the service that Lockstep made. */
export function holdsOwn(names: CopyNames, target: TargetState): boolean {
  const { service, slices } = target;
  if (isOwnService(names, service) || ownEndpointsOf(names, target) !== undefined) return true;
  return slices.some((slice) => isOwnedSlice(names, slice));
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

function isOwnService(names: CopyNames, service: Service | undefined): boolean {
  return service !== undefined && isOwned(names, service);
}

/** While one is there nothing is written, and nothing taken away either. */
function obstacle({ namespace, offers, target, policy }: SyncInput): string | undefined {
  const { service, endpoints } = target;
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
