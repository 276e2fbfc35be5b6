// The ReplicaSet controller: as many pods as wanted, made from the template. It never acts on a
// cache that does not yet show its last requests.
import { parseJson, StatusError } from "../../../kube/client/client.ts";
import { type RawRecord, recordAt } from "../../../kube/kinds/fields.ts";
import { collectionPath, objectKey, objectPath, splitObjectKey } from "../../../kube/kinds/kind.ts";
import type { Change } from "../../../kube/store/store-change.ts";
import type { Workqueue } from "../../../kube/workqueue/workqueue.ts";
import { type ControllerOptions, controllerQueue, runController } from "../controller.ts";
import { EventRecorder, referenceTo } from "../event-recorder.ts";
import { isActive, type OwnedPod, ownedPodKind } from "../owned-pod.ts";
import {
  controllerOf,
  numberIn,
  revised,
  type WholeObject,
  wholeReplicaSets,
} from "../whole-object.ts";
import { Expectations } from "./expectations.ts";
import { hasStatus, inDeletionOrder, newPod, replicaSetStatus } from "./replica-pods.ts";

/** replica_set.go BurstReplicas: pods made or given up in one sync. */
const podsPerSync = 500;

/** controller_utils.go SlowStartInitialBatchSize: a template that is refused costs one request. */
const firstBatch = 1;

/** Runs until the signal aborts. */
export async function runReplicaSetController(
  options: ControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { informers, flags, clock } = options;
  const queue = controllerQueue(options, "replicaset");
  const expectations = new Expectations({ clock });
  informers.replicaSets().onChange(({ object }) => queue.add(objectKey(object.metadata)));
  informers.pods().onChange((change) => notePod(change, queue, expectations));
  const component = "replicaset-controller";
  const events = new EventRecorder({ ...options, component, logger: component, signal });
  const sync = new ReplicaSetSync(options, queue, expectations, events);
  await runController(
    options,
    {
      name: "replicaset-controller",
      failure: {
        source: "replica_set.go:585",
        key: "key",
        retrying: "Unhandled Error",
        dropped: "Unhandled Error",
        verbosity: 0,
      },
      // replica_set.go processNextWorkItem: it tries again without end.
      maxRetries: Number.POSITIVE_INFINITY,
      queue,
      workers: flags["concurrent-replicaset-syncs"],
      sync: (key, stop) => sync.sync(key, stop),
    },
    signal,
  );
  await events.settled();
}

function notePod(change: Change<OwnedPod>, queue: Workqueue, expectations: Expectations): void {
  const { metadata } = change.object;
  const owner = controllerOf(change.object);
  if (owner?.kind !== "ReplicaSet") return;
  const key = objectKey({ namespace: metadata.namespace, name: owner.name });
  const isLeaving = change.type === "deleted" || metadata.deletionTimestamp !== undefined;
  if (isLeaving) expectations.deletedOne(key, metadata.uid);
  else if (change.type === "added") expectations.createdOne(key);
  queue.add(key);
}

class ReplicaSetSync {
  readonly #options: ControllerOptions;
  readonly #queue: Workqueue;
  readonly #expectations: Expectations;
  readonly #events: EventRecorder;

  constructor(
    options: ControllerOptions,
    queue: Workqueue,
    expectations: Expectations,
    events: EventRecorder,
  ) {
    this.#options = options;
    this.#queue = queue;
    this.#expectations = expectations;
    this.#events = events;
  }

  async sync(key: string, signal: AbortSignal): Promise<void> {
    const { informers, clock } = this.#options;
    const { namespace, name } = splitObjectKey(key);
    const set = informers.replicaSets().store.get(namespace, name);
    if (set === undefined) {
      this.#expectations.forget(key);
      return;
    }
    const { uid } = set.metadata;
    const pods = [...informers.pods().store.byIndex("owner", uid)];
    const status = replicaSetStatus(set, pods, clock.wallMs());
    try {
      if (this.#expectations.areMet(key) && set.metadata.deletionTimestamp === undefined) {
        await this.#manage(key, set, pods.filter(isActive), signal);
      }
    } finally {
      // Also when pods could not be made: what there is, is to be seen.
      if (!hasStatus(set, status)) await this.#putStatus(set, { ...status }, signal);
    }
    const minReadySeconds = numberIn(set, "spec", "minReadySeconds");
    if (minReadySeconds > 0 && status.readyReplicas > status.availableReplicas) {
      this.#queue.addAfter(key, minReadySeconds * 1000);
    }
  }

  async #manage(
    key: string,
    set: WholeObject,
    active: readonly OwnedPod[],
    signal: AbortSignal,
  ): Promise<void> {
    const missing = numberIn(set, "spec", "replicas") - active.length;
    if (missing > 0) await this.#createPods(key, set, Math.min(missing, podsPerSync), signal);
    if (missing >= 0) return;
    const surplus = inDeletionOrder(active).slice(0, Math.min(-missing, podsPerSync));
    this.#expectations.expectDeletions(
      key,
      surplus.map(({ metadata }) => metadata.uid),
    );
    await all(surplus.map((pod) => this.#deletePod(key, set, pod, signal)));
  }

  /** In batches that double, so that a template the server refuses is not sent 500 times. */
  async #createPods(
    key: string,
    set: WholeObject,
    count: number,
    signal: AbortSignal,
  ): Promise<void> {
    this.#expectations.expectCreations(key, count);
    let left = count;
    try {
      for (let batch = firstBatch; left > 0; batch *= 2) {
        const size = Math.min(batch, left);
        await all(
          Array.from({ length: size }, async () => {
            await this.#createPod(set, signal);
            left -= 1;
          }),
        );
      }
    } finally {
      // A watch will not show pods that were not created.
      for (; left > 0; left -= 1) this.#expectations.createdOne(key);
    }
  }

  async #createPod(set: WholeObject, signal: AbortSignal): Promise<void> {
    const path = collectionPath(ownedPodKind, set.metadata.namespace);
    const body = newPod(set);
    const { client } = this.#options;
    try {
      const answer = await client.request({ verb: "create", method: "POST", path, body, signal });
      const { name } = ownedPodKind.project(parseJson(answer)).metadata;
      this.#record(set, "SuccessfulCreate", `Created pod: ${name}`);
    } catch (error) {
      if (!isEnding(error)) this.#record(set, "FailedCreate", `Error creating: ${textOf(error)}`);
      throw error;
    }
  }

  async #deletePod(
    key: string,
    set: WholeObject,
    { metadata }: OwnedPod,
    signal: AbortSignal,
  ): Promise<void> {
    const path = objectPath(ownedPodKind, metadata);
    const body = { preconditions: { uid: metadata.uid } };
    try {
      await this.#options.client.request({ verb: "delete", method: "DELETE", path, body, signal });
      this.#record(set, "SuccessfulDelete", `Deleted pod: ${metadata.name}`);
    } catch (error) {
      this.#expectations.deletedOne(key, metadata.uid);
      if (error instanceof StatusError && error.code === 404) return;
      this.#record(set, "FailedDelete", `Error deleting: ${textOf(error)}`);
      throw error;
    }
  }

  #record(set: WholeObject, reason: string, message: string): void {
    const type = reason.startsWith("Failed") ? "Warning" : "Normal";
    const { workloadVersion } = this.#options.profile.events;
    const involved = referenceTo("ReplicaSet", workloadVersion, set);
    this.#events.record(involved, { type, reason, message });
  }

  async #putStatus(set: WholeObject, status: RawRecord, signal: AbortSignal): Promise<void> {
    const fields = { status: { ...recordAt(set.raw, "status"), ...status } };
    await this.#options.client.request({
      verb: "update",
      method: "PUT",
      path: objectPath(wholeReplicaSets, set.metadata, "status"),
      body: revised(wholeReplicaSets, set, { fields }),
      signal,
    });
  }
}

/** The namespace is going, which is no news. */
function isEnding(error: unknown): boolean {
  return error instanceof StatusError && error.causes.includes("NamespaceTerminating");
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Waits for all of them, and only then fails with the first failure. */
async function all(work: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(work);
  for (const result of results) {
    if (result.status === "rejected") throw result.reason;
  }
}
