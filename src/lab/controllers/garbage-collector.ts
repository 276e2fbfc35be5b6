// Deletes what has lost all its owners, in the background: ReplicaSets of deleted Deployments, pods
// of deleted ReplicaSets, slices of deleted Services. The cache only raises the suspicion; before
// a deletion, a read from the server itself shows whether the owner is gone. Deletions that first
// settle what becomes of the dependents are `held-deletion.ts`'s.
import { parseJson } from "../../kube/client/client.ts";
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
import { type Dependent, type Held, HeldDeletions, isGone } from "./held-deletion.ts";
import type { Informers } from "./informers.ts";
import { ownedPodKind } from "./owned-pod.ts";
import {
  type OwnerReference,
  wholeDeployments,
  wholeEndpoints,
  wholeReplicaSets,
  wholeSlices,
} from "./whole-object.ts";

interface Owned extends Held {
  readonly owners: readonly OwnerReference[];
}

/** A kind whose objects own or are owned, by the resource name that begins its keys. */
interface CollectedKind {
  readonly place: ResourcePlace;
  readonly get: (namespace: string, name: string) => Owned | undefined;
  readonly ownedBy: (uid: string) => Iterable<Owned>;
}

/** An object to delete, unless an owner is left. */
interface Item {
  readonly place: ResourcePlace;
  readonly object: Owned;
  readonly hasDependents: boolean;
}

type AddObject = (place: ResourcePlace, object: Pick<ObjectMeta, "namespace" | "name">) => void;

/** Owners by their kind; an owner of another kind is taken to exist. */
const ownerPlaces: Readonly<Record<string, ResourcePlace>> = {
  Deployment: wholeDeployments,
  Endpoints: wholeEndpoints,
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
  const queue = controllerQueue(options, "garbage_collector_attempt_to_delete");
  const kinds = collectedKinds(options);
  const absent = new AbsentOwners();
  const held = new HeldDeletions(options.client);
  const add: AddObject = (place, object) => queue.add(`${place.resource}/${objectKey(object)}`);
  listen(options, kinds, held, add);
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
      workers: options.flags["concurrent-gc-syncs"],
      sync: async (key, stop) => {
        const { namespace: resource, name: rest } = splitObjectKey(key);
        const kind = kinds.get(resource);
        const { namespace, name } = splitObjectKey(rest);
        const object = kind?.get(namespace, name);
        if (kind === undefined || object === undefined) return;
        const dependents = dependentsOf(kinds, object);
        if (held.concerns(object)) {
          const first = await held.proceed(kind.place, object, dependents, stop);
          for (const { place, metadata } of first) add(place, metadata);
        } else {
          const item = { place: kind.place, object, hasDependents: dependents.length > 0 };
          await collect(options, { absent, held }, item, stop);
        }
      },
    },
    signal,
  );
}

/** Adds what may have lost its owners, and owners that wait for what becomes of theirs. */
function listen(
  { informers, profile }: ControllerOptions,
  kinds: ReadonlyMap<string, CollectedKind>,
  held: HeldDeletions,
  add: AddObject,
): void {
  const noteOwner = (change: { readonly type: string; readonly object: Held }) => {
    if (change.type !== "deleted") return;
    held.gone(change.object.metadata.uid);
    for (const { place, metadata } of dependentsOf(kinds, change.object)) add(place, metadata);
  };
  const noteHeld = (place: ResourcePlace) => (change: { type: string; object: Held }) => {
    const { type, object } = change;
    if (type !== "deleted" && held.concerns(object)) add(place, object.metadata);
  };
  const noteDependent = (place: ResourcePlace) => (change: { type: string; object: Owned }) => {
    const { type, object } = change;
    // The owner may have been deleted before the dependent was created; then no event follows.
    const isOrphaned = object.owners.some((owner) => !isKnown(informers, object, owner));
    if (type === "added" && isOrphaned) add(place, object.metadata);
    if (type !== "deleted") return;
    const { namespace } = object.metadata;
    for (const { kind, name, uid } of object.owners) {
      const ownerPlace = ownerPlaces[kind];
      if (ownerPlace && held.isWaiting(uid)) add(ownerPlace, { namespace, name });
    }
  };
  informers.services().onChange(noteOwner);
  informers.deployments().onChange(noteOwner);
  informers.replicaSets().onChange(noteOwner);
  informers.replicaSets().onChange(noteDependent(wholeReplicaSets));
  informers.pods().onChange(noteDependent(ownedPodKind));
  informers.services().onChange(noteHeld(serviceKind));
  informers.deployments().onChange(noteHeld(wholeDeployments));
  informers.replicaSets().onChange(noteHeld(wholeReplicaSets));
  informers.pods().onChange(noteHeld(ownedPodKind));
  if (profile.endpointSlices) {
    informers.endpoints().onChange(noteOwner);
    informers.slices().onChange(noteDependent(wholeSlices));
    informers.slices().onChange(noteHeld(wholeSlices));
  }
}

function dependentsOf(
  kinds: ReadonlyMap<string, CollectedKind>,
  { metadata }: Held,
): readonly Dependent[] {
  return [...kinds.values()].flatMap(({ place, ownedBy }) =>
    Array.from(ownedBy(metadata.uid), (owned) => ({ ...owned, place })),
  );
}

function collectedKinds({ informers, profile }: ControllerOptions): Map<string, CollectedKind> {
  const pods = informers.pods();
  const sets = informers.replicaSets();
  const deployments = informers.deployments();
  const services = informers.services();
  const kinds: CollectedKind[] = [
    {
      place: wholeDeployments,
      get: (namespace, name) => deployments.store.get(namespace, name),
      ownedBy: noOne,
    },
    {
      place: serviceKind,
      get: (namespace, name) => {
        const service = services.store.get(namespace, name);
        return service && { metadata: service.metadata, owners: [] };
      },
      ownedBy: noOne,
    },
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
    Endpoints: () => informers.endpoints().store.get(namespace, owner.name),
    ReplicaSet: () => informers.replicaSets().store.get(namespace, owner.name),
    Service: () => informers.services().store.get(namespace, owner.name),
  }[owner.kind];
  return found === undefined || found()?.metadata.uid === owner.uid;
}

/** attemptToDeleteItem: the object is asked for first, then each owner unless it is known to lack. */
async function collect(
  { client, informers }: ControllerOptions,
  { absent, held }: { readonly absent: AbsentOwners; readonly held: HeldDeletions },
  { place, object, hasDependents }: Item,
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
  let isAwaited = false;
  for (const owner of owners) {
    if (held.isWaiting(owner.uid)) {
      isAwaited = true;
      continue;
    }
    if (isKnown(informers, object, owner)) return;
    const ownerPlace = ownerPlaces[owner.kind];
    if (ownerPlace === undefined) return;
    if (absent.has(owner.uid)) continue;
    const { namespace } = metadata;
    if ((await uidAt(objectPath(ownerPlace, { namespace, name: owner.name }))) === owner.uid)
      return;
    absent.add(owner.uid);
  }
  const propagationPolicy = isAwaited && hasDependents ? "Foreground" : "Background";
  const body = { propagationPolicy, preconditions: { uid: metadata.uid } };
  try {
    await client.request({ verb: "delete", method: "DELETE", path, body, signal });
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

/** For kinds whose objects have no owner. */
function noOne(): readonly Owned[] {
  return [];
}

/** Owners that the server does not have; of many dependents only the first needs a read. */
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
