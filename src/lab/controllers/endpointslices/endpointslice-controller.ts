// The EndpointSlice controller: keeps the slices of every service with a selector right, with one
// request per slice that changes. Slices of deleted services are left to the garbage collector.
import { TokenBucket } from "../../../kube/client/token-bucket.ts";
import { objectKey } from "../../../kube/kinds/kind.ts";
import {
  bucketRateLimiter,
  ExponentialRateLimiter,
  longestOf,
} from "../../../kube/workqueue/rate-limiter.ts";
import { type ControllerOptions, controllerQueue, runController } from "../controller.ts";
import { EventRecorder } from "../event-recorder.ts";
import { structuredFailures } from "../klog/failure-lines.ts";
import { servicesConcerned } from "../memberships.ts";
import { serviceKeyOf } from "./published-slice.ts";
import { isManaged, SliceSync, sliceLogger } from "./slice-sync.ts";

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
  const component = "endpoint-slice-controller";
  const events = new EventRecorder({ ...options, component, signal });
  const sync = new SliceSync(options, events);
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
      name: sliceLogger,
      failure: structuredFailures({
        logger: sliceLogger,
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
  await events.settled();
}
