// The EndpointSlice controller: keeps the slices of every service with a selector right, with one
// request per slice that changes. Slices of deleted services are left to the garbage collector.
import { parseJson, StatusError } from "../../../kube/client/client.ts";
import { TokenBucket } from "../../../kube/client/token-bucket.ts";
import { collectionPath, objectKey, objectPath, splitObjectKey } from "../../../kube/kinds/kind.ts";
import type { Service } from "../../../kube/kinds/service.ts";
import {
  bucketRateLimiter,
  ExponentialRateLimiter,
  longestOf,
} from "../../../kube/workqueue/rate-limiter.ts";
import { type ControllerOptions, controllerQueue, runController } from "../controller.ts";
import { goTime, triggerTimeAnnotation } from "../endpoints/published.ts";
import { structuredFailures } from "../klog/failure-lines.ts";
import { podsOf, servicesConcerned } from "../memberships.ts";
import { TriggerTimes } from "../trigger-times.ts";
import { revised, type WholeObject, wholeSlices } from "../whole-object.ts";
import {
  labelsFor,
  managedByLabel,
  newSliceBody,
  type PublishedSlice,
  readSlice,
  serviceKeyOf,
  sliceController,
  type WantedSlice,
} from "./published-slice.ts";
import { addressTypesOf, sliceGroups } from "./slice-groups.ts";
import { planSlices, type SlicePlan } from "./slice-plan.ts";
import { SliceTracker } from "./slice-tracker.ts";

/** endpointslice_controller.go: defaultSyncBackOff, and maxSyncBackOff as of 1.26. */
const retryBaseMs = 1000;
const retryMaxMs = 1_000_000;
/** endpointslice_controller.go NewController: shared by all retries of the queue. */
const retries = { qps: 10, burst: 100 };

/** endpointSliceChangeMinSyncDelay: the cache gets the time to show our own write first. */
const foreignChangeDelayMs = 1000;

/** Runs until the signal aborts. */
export async function runEndpointSliceController(
  options: ControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { informers, flags, clock, timers } = options;
  const services = informers.services();
  const slices = informers.slices();
  informers.nodes();
  const limiter = longestOf(
    new ExponentialRateLimiter({ baseMs: retryBaseMs, maxMs: retryMaxMs }),
    bucketRateLimiter(new TokenBucket({ clock, timers, ...retries })),
  );
  const queue = controllerQueue(options, "endpoint_slice", limiter);
  const batchMs = flags["endpointslice-updates-batch-period"];
  const sync = new SliceSync(options);
  services.onChange(({ object }) => queue.add(objectKey(object.metadata)));
  informers.pods().onChange((change) => {
    const concerned = servicesConcerned(change, services.store, "address");
    for (const key of concerned) queue.addAfter(key, batchMs);
  });
  slices.onChange((change) => {
    const { type, object } = change;
    if (type === "updated" && object === change.previous) return;
    const before = type === "updated" ? change.previous : object;
    if (!isManaged(object) && !isManaged(before)) return;
    const isExpected =
      type === "deleted" ? sync.tracker.sawDeletion(object) : !sync.tracker.isUnexpected(object);
    if (isExpected && isManaged(object) === isManaged(before)) return;
    for (const { metadata } of new Set([object, before])) {
      queue.addAfter(serviceKeyOf(metadata), Math.max(foreignChangeDelayMs, batchMs));
    }
  });
  await runController(
    options,
    {
      name: "endpointslice-controller",
      failure: structuredFailures({
        logger: "endpointslice-controller",
        key: "key",
        file: "endpointslice_controller.go",
        retrying: {
          line: 344,
          message: "Error syncing endpoint slices for service, retrying",
          verbosity: 0,
        },
        dropped: { line: 349, message: "Retry budget exceeded, dropping service out of the queue" },
        handledLine: 351,
      }),
      queue,
      workers: flags["concurrent-service-endpoint-syncs"],
      sync: (key, stop) => sync.sync(key, stop),
    },
    signal,
  );
}

class SliceSync {
  readonly tracker = new SliceTracker();
  readonly #options: ControllerOptions;
  readonly #triggerTimes = new TriggerTimes();

  constructor(options: ControllerOptions) {
    this.#options = options;
  }

  async sync(key: string, signal: AbortSignal): Promise<void> {
    const { informers } = this.#options;
    const { namespace, name } = splitObjectKey(key);
    const service = informers.services().store.get(namespace, name);
    if (service === undefined) {
      this.#triggerTimes.forget(key);
      this.tracker.forget(key);
      return;
    }
    if (service.type === "ExternalName" || service.selector === undefined) return;
    const pods = podsOf(service, informers.pods().store);
    const existing = [...informers.slices().store.byIndex("service", key)].filter(
      (slice) => isManaged(slice) && slice.metadata.deletionTimestamp === undefined,
    );
    if (this.tracker.isStale(key, existing)) {
      throw new Error("EndpointSlice informer cache is out of date");
    }
    const triggerTime = this.#triggerTimes.next(service, pods);
    const annotations: Readonly<Record<string, string>> =
      triggerTime === undefined ? {} : { [triggerTimeAnnotation]: goTime(triggerTime) };
    const published = existing.map(readSlice);
    const nodes = informers.nodes().store;
    const addressTypes = addressTypesOf(service);
    const left: string[] = [];
    for (const addressType of addressTypes) {
      const own = published.filter((slice) => slice.addressType === addressType);
      const wanted = sliceGroups(service, pods, addressType, (node) => nodes.get("", node));
      const maxEndpoints = this.#options.flags["max-endpoints-per-slice"];
      const { groups } = wanted;
      const plan = planSlices({ service, addressType, existing: own, groups, maxEndpoints });
      await this.#carryOut(service, plan, annotations, signal);
      left.push(...wanted.withoutNode.map(({ metadata }) => metadata.name));
    }
    const foreign = published.filter(
      (one) => !addressTypes.some((type) => type === one.addressType),
    );
    for (const slice of foreign) await this.#remove(key, slice, signal);
    for (const slice of existing) this.tracker.found(key, slice);
    if (left.length > 0) {
      throw new Error(
        `skipping Pods of Service ${key} whose Node was not found: ${left.join(" ")}`,
      );
    }
  }

  async #carryOut(
    service: Service,
    { create, update, remove }: SlicePlan,
    annotations: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> {
    const key = objectKey(service.metadata);
    // A service on its way out gets no new slices: the garbage collector is after the old ones.
    if (service.metadata.deletionTimestamp === undefined) {
      for (const slice of create) await this.#create(service, slice, annotations, signal);
    }
    for (const slice of update) await this.#update(service, slice, annotations, signal);
    for (const slice of remove) await this.#remove(key, slice, signal);
  }

  async #create(
    service: Service,
    slice: WantedSlice,
    annotations: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> {
    const path = collectionPath(wholeSlices, service.metadata.namespace);
    const body = newSliceBody(service, slice, annotations);
    try {
      await this.#write(service, { verb: "create", method: "POST", path, body, signal });
    } catch (error) {
      if (error instanceof StatusError && error.causes.includes("NamespaceTerminating")) return;
      throw error;
    }
  }

  async #update(
    service: Service,
    slice: WantedSlice,
    annotations: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> {
    const { object, ports, endpoints } = slice;
    if (object === undefined) return;
    const { [triggerTimeAnnotation]: _, ...kept } = object.annotations;
    const body = revised(wholeSlices, object, {
      labels: labelsFor(service),
      annotations: { ...kept, ...annotations },
      fields: { ports, endpoints },
    });
    const path = objectPath(wholeSlices, object.metadata);
    await this.#write(service, { verb: "update", method: "PUT", path, body, signal });
  }

  async #write(
    service: Service,
    request: Parameters<ControllerOptions["client"]["request"]>[0],
  ): Promise<void> {
    const response = await this.#options.client.request(request);
    const { metadata, generation } = wholeSlices.project(parseJson(response));
    this.tracker.wrote(objectKey(service.metadata), metadata.uid, generation);
  }

  async #remove(key: string, { object }: PublishedSlice, signal: AbortSignal): Promise<void> {
    try {
      const path = objectPath(wholeSlices, object.metadata);
      await this.#options.client.request({ verb: "delete", method: "DELETE", path, signal });
    } catch (error) {
      if (!(error instanceof StatusError && error.code === 404)) throw error;
    }
    this.tracker.expectDeletion(key, object.metadata);
  }
}

function isManaged({ metadata }: WholeObject): boolean {
  return metadata.labels[managedByLabel] === sliceController;
}
