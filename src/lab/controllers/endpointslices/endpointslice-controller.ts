// The EndpointSlice controller: keeps the slices of every service with a selector right, with one
// request per slice that changes. Slices of deleted services are left to the garbage collector.
import { TokenBucket } from "../../../kube/client/token-bucket.ts";
import { objectKey } from "../../../kube/kinds/kind.ts";
import {
  bucketRateLimiter,
  ExponentialRateLimiter,
  longestOf,
} from "../../../kube/workqueue/rate-limiter.ts";
import type { Workqueue } from "../../../kube/workqueue/workqueue.ts";
import type { SliceRules } from "../../versions/profile.ts";
import { type ControllerOptions, controllerQueue, runController } from "../controller.ts";
import { EventRecorder } from "../event-recorder.ts";
import { servicesConcerned } from "../memberships.ts";
import type { WholeNode } from "../nodes/whole-node.ts";
import { serviceKeyOf } from "./published-slice.ts";
import { zoneLabel } from "./slice-groups.ts";
import { isManaged, SliceSync, sliceLogger } from "./slice-sync.ts";
import type { TopologyCache } from "./topology-cache.ts";

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
  rules: SliceRules,
  signal: AbortSignal,
): Promise<void> {
  const { informers, flags, clock, timers } = options;
  const services = informers.services();
  const slices = informers.slices();
  const limiter = longestOf(
    new ExponentialRateLimiter({ baseMs: retryBaseMs, maxMs: retryMaxMs }),
    bucketRateLimiter(new TokenBucket({ clock, timers, ...retries })),
  );
  const queue = controllerQueue(options, "endpoint_slice", limiter);
  const batchMs = flags["endpointslice-updates-batch-period"];
  const component = "endpoint-slice-controller";
  const events = new EventRecorder({ ...options, component, signal });
  const sync = new SliceSync(options, rules, events);
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
  watchNodes(options, queue, sync.topology, signal);
  await runController(
    options,
    {
      name: sliceLogger,
      failure: rules.failures,
      queue,
      workers: flags["concurrent-service-endpoint-syncs"],
      sync: (key, stop) => sync.sync(key, stop),
    },
    signal,
  );
  await events.settled();
}

/** Counts the nodes once for all that changed together, and enqueues the services that depend on it. */
function watchNodes(
  { informers, timers }: ControllerOptions,
  queue: Workqueue,
  topology: TopologyCache,
  signal: AbortSignal,
): void {
  const nodes = informers.nodes();
  let isDue = false;
  const count = (): void => {
    isDue = false;
    if (signal.aborted) return;
    topology.setNodes(nodes.store);
    for (const key of topology.overloaded()) queue.add(key);
  };
  nodes.onChange((change) => {
    const { type, object } = change;
    if (isDue || (type === "updated" && saysTheSame(change.previous, object))) return;
    isDue = true;
    timers.after(0, count);
  });
}

function saysTheSame(before: WholeNode, after: WholeNode): boolean {
  return (
    (before.ready?.status === "True") === (after.ready?.status === "True") &&
    before.metadata.labels[zoneLabel] === after.metadata.labels[zoneLabel]
  );
}
