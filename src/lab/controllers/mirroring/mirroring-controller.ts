// The EndpointSliceMirroring controller: copies the Endpoints that users write for services without
// a selector into slices, so that those who read slices find them too. One more hop for such a
// service. Slices of Endpoints that are not to be copied any more are deleted.
import { parseJson, StatusError } from "../../../kube/client/client.ts";
import { TokenBucket } from "../../../kube/client/token-bucket.ts";
import { collectionPath, objectKey, objectPath, splitObjectKey } from "../../../kube/kinds/kind.ts";
import { leaderAnnotation } from "../../../kube/leader/lease-record.ts";
import type { Change } from "../../../kube/store/store-change.ts";
import {
  bucketRateLimiter,
  ExponentialRateLimiter,
  longestOf,
} from "../../../kube/workqueue/rate-limiter.ts";
import type { Workqueue } from "../../../kube/workqueue/workqueue.ts";
import type { MirroringRules } from "../../versions/profile.ts";
import { type ControllerOptions, controllerQueue, runController } from "../controller.ts";
import { managedByLabel, serviceKeyOf } from "../endpointslices/published-slice.ts";
import { SliceTracker } from "../endpointslices/slice-tracker.ts";
import { EventRecorder, referenceTo } from "../event-recorder.ts";
import { type WholeObject, wholeSlices } from "../whole-object.ts";
import { type MirrorPlan, mirroringController, planMirror } from "./mirror-plan.ts";
import { mirroredGroups } from "./mirrored-groups.ts";

/** endpointslicemirroring_controller.go: defaultSyncBackOff, maxSyncBackOff. */
const retryBaseMs = 1000;
const retryMaxMs = 100_000;
/** endpointslicemirroring_controller.go NewController: shared by all retries of the queue. */
const retries = { qps: 10, burst: 100 };

/** Endpoints with it are not copied. */
const skipMirrorLabel = "endpointslice.kubernetes.io/skip-mirror";

/** Runs until the signal aborts. */
export async function runMirroringController(
  options: ControllerOptions,
  rules: MirroringRules,
  signal: AbortSignal,
): Promise<void> {
  const { clock, timers, flags } = options;
  const limiter = longestOf(
    new ExponentialRateLimiter({ baseMs: retryBaseMs, maxMs: retryMaxMs }),
    bucketRateLimiter(new TokenBucket({ clock, timers, ...retries })),
  );
  const queue = controllerQueue(options, "endpoint_slice_mirroring", limiter);
  const component = "endpoint-slice-mirroring-controller";
  const events = new EventRecorder({ ...options, component, signal });
  const sync = new MirrorSync(options, rules, events);
  listen(options, queue, sync.tracker);
  await runController(
    options,
    {
      name: "endpointslice-mirroring-controller",
      failure: rules.failures,
      queue,
      workers: flags["mirroring-concurrent-service-endpoint-syncs"],
      sync: (key, stop) => sync.sync(key, stop),
    },
    signal,
  );
  await events.settled();
}

function listen(
  { informers, flags }: ControllerOptions,
  queue: Workqueue,
  tracker: SliceTracker,
): void {
  const batchMs = flags["mirroring-endpointslice-updates-batch-period"];
  informers.endpoints().onChange((change) => {
    const before = change.type === "updated" ? change.previous : change.object;
    if (isToMirror(change.object) || isToMirror(before))
      queue.add(objectKey(change.object.metadata));
  });
  informers.services().onChange((change) => {
    const { type, object } = change;
    const hasChanged =
      type === "updated"
        ? (object.selector === undefined) !== (change.previous.selector === undefined)
        : object.selector === undefined;
    if (hasChanged) queue.add(objectKey(object.metadata));
  });
  informers.slices().onChange((change) => {
    for (const key of concerned(change, tracker)) queue.addAfter(key, batchMs);
  });
}

/** The keys of services whose copied slices another writer changed. */
function concerned(change: Change<WholeObject>, tracker: SliceTracker): readonly string[] {
  const { type, object } = change;
  const key = serviceKeyOf(object.metadata);
  if (type === "deleted") return isMirrored(object) && !tracker.sawDeletion(object) ? [key] : [];
  const before = type === "updated" ? change.previous : object;
  const keyBefore = serviceKeyOf(before.metadata);
  if (keyBefore !== key) return [key, keyBefore];
  const hasChangedHands = isMirrored(before) !== isMirrored(object);
  return hasChangedHands || (isMirrored(object) && tracker.isUnexpected(object)) ? [key] : [];
}

class MirrorSync {
  readonly tracker = new SliceTracker();
  readonly #options: ControllerOptions;
  readonly #rules: MirroringRules;
  readonly #events: EventRecorder;

  constructor(options: ControllerOptions, rules: MirroringRules, events: EventRecorder) {
    this.#options = options;
    this.#rules = rules;
    this.#events = events;
  }

  async sync(key: string, signal: AbortSignal): Promise<void> {
    const { informers, flags } = this.#options;
    const { namespace, name } = splitObjectKey(key);
    const endpoints = informers.endpoints().store.get(namespace, name);
    const service = informers.services().store.get(namespace, name);
    const existing = [...informers.slices().store.byIndex("service", key)].filter(isMirrored);
    const isWanted = service !== undefined && service.selector === undefined;
    if (endpoints === undefined || !isToMirror(endpoints) || !isWanted) {
      this.tracker.forget(key);
      for (const slice of existing) await this.#remove(key, slice, signal);
      return;
    }
    if (this.tracker.isStale(key, existing)) {
      throw new Error("EndpointSlice informer cache is out of date");
    }
    const max = flags["mirroring-max-endpoints-per-subset"];
    const { groups, skipped } = mirroredGroups(endpoints, max, this.#rules.hash);
    if (skipped > 0) this.#tellSkipped(endpoints, skipped, max);
    const plan = planMirror(endpoints, groups, existing);
    for (const slice of plan.unchanged) this.tracker.found(key, slice);
    await this.#carryOut(key, endpoints, plan, signal);
  }

  #tellSkipped(endpoints: WholeObject, skipped: number, max: number): void {
    this.#events.record(referenceTo("Endpoints", "v1", endpoints), {
      type: "Warning",
      reason: "TooManyAddressesToMirror",
      message:
        `A max of ${max} addresses can be mirrored to EndpointSlices per Endpoints subset. ` +
        `${skipped} addresses were skipped`,
    });
  }

  async #carryOut(
    key: string,
    { metadata }: WholeObject,
    { create, update, remove }: MirrorPlan,
    signal: AbortSignal,
  ): Promise<void> {
    const collection = collectionPath(wholeSlices, metadata.namespace);
    for (const body of metadata.deletionTimestamp === undefined ? create : []) {
      try {
        await this.#write(key, { verb: "create", method: "POST", path: collection, body, signal });
      } catch (error) {
        // The namespace is going: this would be refused for ever.
        if (error instanceof StatusError && error.causes.includes("NamespaceTerminating")) return;
        throw error;
      }
    }
    for (const { object, body } of update) {
      const path = objectPath(wholeSlices, object.metadata);
      await this.#write(key, { verb: "update", method: "PUT", path, body, signal });
    }
    for (const slice of remove) await this.#remove(key, slice, signal);
  }

  async #write(
    key: string,
    request: Parameters<ControllerOptions["client"]["request"]>[0],
  ): Promise<void> {
    const response = await this.#options.client.request(request);
    const { metadata, generation } = wholeSlices.project(parseJson(response));
    this.tracker.wrote(key, metadata.uid, generation);
  }

  /** Fails when the slice is gone already; the next try will know. */
  async #remove(key: string, { metadata }: WholeObject, signal: AbortSignal): Promise<void> {
    const path = objectPath(wholeSlices, metadata);
    await this.#options.client.request({ verb: "delete", method: "DELETE", path, signal });
    this.tracker.expectDeletion(key, metadata);
  }
}

/** A lock of a leader election is not copied either. */
function isToMirror({ metadata, annotations }: WholeObject): boolean {
  return metadata.labels[skipMirrorLabel] !== "true" && annotations[leaderAnnotation] === undefined;
}

function isMirrored({ metadata }: WholeObject): boolean {
  return metadata.labels[managedByLabel] === mirroringController;
}
