// The writes that make the access cluster show one service as the business clusters offer it.
// Correct objects and objects of other owners are not written, and nothing is removed for a cluster
// that is not known yet.
import type { EndpointSlice } from "../../kube/kinds/endpoint-slice.ts";
import type { Namespace } from "../../kube/kinds/namespace.ts";
import type { Service } from "../../kube/kinds/service.ts";
import {
  type CopyNames,
  isOwned,
  isOwnedSlice,
  ownedLabels,
  sourceClusterOf,
} from "./copy-names.ts";
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
  const owned = target.slices.filter((slice) => isOwnedSlice(names, slice)).sort(byName);
  const isOffered = offers.some(({ service }) => service !== undefined);
  if (!isOffered && owned.length === 0 && !isOwnService(names, target.service)) return nothing;
  const blocked = obstacle(input);
  if (blocked !== undefined) return { writes: [], blocked };
  const known = offers.filter((offer) => offer.isKnown);
  const slices = known.flatMap((offer) => {
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
  const forgotten = owned
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
  const writes = [...planNamespace(input), ...service, ...slices, ...forgotten];
  return { writes: inOrder(writes), blocked: undefined };
}

/** Whether the access cluster holds anything of the service that Lockstep made. */
export function holdsOwn(names: CopyNames, { service, slices }: TargetState): boolean {
  return isOwnService(names, service) || slices.some((slice) => isOwnedSlice(names, slice));
}

function isOwnService(names: CopyNames, service: Service | undefined): boolean {
  return service !== undefined && isOwned(names, service);
}

/** While one is there nothing is written, and nothing taken away either. */
function obstacle({ namespace, target, policy }: SyncInput): string | undefined {
  const { service } = target;
  if (service !== undefined && !isOwned(policy.names, service)) {
    return `Service ${namespace}/${service.metadata.name} exists and was not created by Lockstep`;
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
