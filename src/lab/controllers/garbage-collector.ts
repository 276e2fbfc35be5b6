// Deletes what has lost all its owners, in the background: ReplicaSets of deleted Deployments, pods
// of deleted ReplicaSets, slices of deleted Services. The cache only raises the suspicion; before
// anything is deleted the server itself is asked whether the owner is gone.
import { parseJson, StatusError } from "../../kube/client/client.ts";
import { optionalString, recordAt } from "../../kube/kinds/fields.ts";
import {
  type ObjectMeta,
  objectKey,
  objectPath,
  type ResourcePlace,
  splitObjectKey,
} from "../../kube/kinds/kind.ts";
import { objectRecord } from "../../kube/kinds/metadata.ts";
import { serviceKind } from "../../kube/kinds/service.ts";
import { type ControllerOptions, controllerQueue, runController } from "./controller.ts";
import type { Informers } from "./informers.ts";
import { ownedPodKind } from "./owned-pod.ts";
import {
  type OwnerReference,
  wholeDeployments,
  wholeReplicaSets,
  wholeSlices,
} from "./whole-object.ts";

interface Owned {
  readonly metadata: ObjectMeta;
  readonly owners: readonly OwnerReference[];
}

/** A kind whose objects are owned, by the resource name that begins its keys. */
interface DependentKind {
  readonly place: ResourcePlace;
  readonly get: (namespace: string, name: string) => Owned | undefined;
  readonly ownedBy: (uid: string) => Iterable<Owned>;
}

/** Owners by their kind; an owner of another kind is taken to exist. */
const ownerPlaces: Readonly<Record<string, ResourcePlace>> = {
  Deployment: wholeDeployments,
  ReplicaSet: wholeReplicaSets,
  Service: serviceKind,
};

/** garbagecollector.go NewReferenceCache(500). */
const absentMax = 500;

/** Runs until the signal aborts. */
export async function runGarbageCollector(
  options: ControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { informers, flags } = options;
  const queue = controllerQueue(options, "garbage_collector_attempt_to_delete");
  const kinds = dependentKinds(options);
  const absent = new AbsentOwners();
  const addOwned = (uid: string): void => {
    for (const { place, ownedBy } of kinds.values()) {
      for (const owned of ownedBy(uid)) queue.add(`${place.resource}/${objectKey(owned.metadata)}`);
    }
  };
  const noteOwner = (change: {
    readonly type: string;
    readonly object: Pick<Owned, "metadata">;
  }) => {
    if (change.type === "deleted") addOwned(change.object.metadata.uid);
  };
  const noteDependent = (place: ResourcePlace) => (change: { type: string; object: Owned }) => {
    // An owner may have gone before the dependent was made, and then nobody tells.
    const { type, object } = change;
    const isOrphaned = object.owners.some((owner) => !isKnown(informers, object, owner));
    if (type === "added" && isOrphaned)
      queue.add(`${place.resource}/${objectKey(object.metadata)}`);
  };
  informers.services().onChange(noteOwner);
  informers.deployments().onChange(noteOwner);
  informers.replicaSets().onChange(noteOwner);
  informers.replicaSets().onChange(noteDependent(wholeReplicaSets));
  informers.pods().onChange(noteDependent(ownedPodKind));
  if (options.profile.endpointSlices) informers.slices().onChange(noteDependent(wholeSlices));
  await runController(
    options,
    {
      name: "garbage-collector-controller",
      failure: {
        source: "garbagecollector.go:401",
        key: "item",
        retrying: "Unhandled Error",
        dropped: "Unhandled Error",
        verbosity: 0,
      },
      // garbagecollector.go attemptToDeleteWorker: it tries again without end.
      maxRetries: Number.POSITIVE_INFINITY,
      queue,
      workers: flags["concurrent-gc-syncs"],
      sync: async (key, stop) => {
        const { namespace: resource, name: rest } = splitObjectKey(key);
        const kind = kinds.get(resource);
        const { namespace, name } = splitObjectKey(rest);
        const object = kind?.get(namespace, name);
        if (kind === undefined || object === undefined) return;
        await collect(options, absent, { place: kind.place, object }, stop);
      },
    },
    signal,
  );
}

function dependentKinds({ informers, profile }: ControllerOptions): Map<string, DependentKind> {
  const pods = informers.pods();
  const sets = informers.replicaSets();
  const kinds: DependentKind[] = [
    {
      place: ownedPodKind,
      get: (namespace, name) => pods.store.get(namespace, name),
      ownedBy: (uid) => pods.store.byIndex("owner", uid),
    },
    {
      place: wholeReplicaSets,
      get: (namespace, name) => sets.store.get(namespace, name),
      ownedBy: (uid) => sets.store.byIndex("owner", uid),
    },
  ];
  if (profile.endpointSlices) {
    const slices = informers.slices();
    kinds.push({
      place: wholeSlices,
      get: (namespace, name) => slices.store.get(namespace, name),
      ownedBy: (uid) => slices.store.byIndex("owner", uid),
    });
  }
  return new Map(kinds.map((kind) => [kind.place.resource, kind]));
}

/** Whether the cache shows the owner. */
function isKnown(informers: Informers, { metadata }: Owned, owner: OwnerReference): boolean {
  const { namespace } = metadata;
  const found = {
    Deployment: () => informers.deployments().store.get(namespace, owner.name),
    ReplicaSet: () => informers.replicaSets().store.get(namespace, owner.name),
    Service: () => informers.services().store.get(namespace, owner.name),
  }[owner.kind];
  return found === undefined || found()?.metadata.uid === owner.uid;
}

/** attemptToDeleteItem: the object is asked for first, then each owner unless it is known to lack. */
async function collect(
  { client, informers }: ControllerOptions,
  absent: AbsentOwners,
  { place, object }: { readonly place: ResourcePlace; readonly object: Owned },
  signal: AbortSignal,
): Promise<void> {
  const { metadata, owners } = object;
  if (metadata.deletionTimestamp !== undefined || owners.length === 0) return;
  const uidAt = async (path: string): Promise<string | undefined> => {
    try {
      const answer = parseJson(await client.request({ verb: "get", method: "GET", path, signal }));
      return optionalString(recordAt(objectRecord(answer), "metadata"), "uid");
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  };
  const path = objectPath(place, metadata);
  if ((await uidAt(path)) !== metadata.uid) return;
  for (const owner of owners) {
    if (isKnown(informers, object, owner)) return;
    const ownerPlace = ownerPlaces[owner.kind];
    if (ownerPlace === undefined) return;
    if (absent.has(owner.uid)) continue;
    const { namespace } = metadata;
    if ((await uidAt(objectPath(ownerPlace, { namespace, name: owner.name }))) === owner.uid)
      return;
    absent.add(owner.uid);
  }
  const body = { propagationPolicy: "Background", preconditions: { uid: metadata.uid } };
  try {
    await client.request({ verb: "delete", method: "DELETE", path, body, signal });
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

/** Owners the server said are gone; of so many dependents only the first has to ask. */
class AbsentOwners {
  readonly #uids = new Set<string>();

  has(uid: string): boolean {
    return this.#uids.has(uid);
  }

  add(uid: string): void {
    this.#uids.add(uid);
    const [oldest] = this.#uids;
    if (this.#uids.size > absentMax && oldest !== undefined) this.#uids.delete(oldest);
  }
}

function isGone(error: unknown): boolean {
  return error instanceof StatusError && error.code === 404;
}
