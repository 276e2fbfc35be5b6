// The Endpoints controller: one object per service with a selector, written when what should be
// published differs from what is. One request per change and none otherwise, except where a version
// did more; which version it is, the profile says.

import { structured } from "../../../components/klog.ts";
import { parseJson } from "../../../kube/client/client.ts";
import { listAt } from "../../../kube/kinds/fields.ts";
import { collectionPath, objectKey } from "../../../kube/kinds/kind.ts";
import { objectRecord } from "../../../kube/kinds/metadata.ts";
import { leaderAnnotation } from "../../../kube/leader/lease-record.ts";
import { type ControllerOptions, controllerQueue, runController } from "../controller.ts";
import { EventRecorder } from "../event-recorder.ts";
import { servicesConcerned } from "../memberships.ts";
import { type WholeObject, wholeEndpoints } from "../whole-object.ts";
import { EndpointsSync } from "./endpoints-sync.ts";

/** Runs until the signal aborts. */
export async function runEndpointsController(
  options: ControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { informers, flags } = options;
  const rules = options.profile.endpoints;
  const services = informers.services();
  const pods = informers.pods();
  const endpoints = informers.endpoints();
  const queue = controllerQueue(options, "endpoint");
  const batchMs = flags["endpoint-updates-batch-period"];
  services.onChange(
    ({ object }) => queue.add(objectKey(object.metadata)),
    rules.serviceResyncMs === undefined ? {} : { resyncMs: rules.serviceResyncMs },
  );
  pods.onChange((change) => {
    const concerned = servicesConcerned(change, services.store, rules.podUpdates);
    for (const key of concerned) {
      if (rules.delaysPodChanges) queue.addAfter(key, batchMs);
      else queue.add(key);
    }
  });
  endpoints.onChange(({ type, object }) => {
    if (type === "deleted" && rules.restoresDeleted) queue.add(objectKey(object.metadata));
  });
  const names = { component: "endpoint-controller", logger: "endpoints-controller" };
  const events = new EventRecorder({ ...options, ...names, signal });
  const sync = new EndpointsSync({ ...options, events });
  noteStart(options, names.logger);
  await runController(
    options,
    {
      name: "endpoints-controller",
      failure: rules.failures,
      queue,
      workers: flags["concurrent-endpoint-syncs"],
      maxRetries: rules.maxRetries,
      // Services that went while nobody looked left their Endpoints behind.
      onStarted: async (stop) => {
        for (const { metadata, annotations } of await leftovers(options, stop)) {
          // A lock of a leader election has no service.
          if (annotations[leaderAnnotation] === undefined) queue.add(objectKey(metadata));
        }
      },
      sync: (key, stop) => sync.sync(key, stop),
    },
    signal,
  );
  await events.settled();
}

function noteStart({ klog, profile }: ControllerOptions, logger: string): void {
  const text = "Starting endpoint controller";
  const isStructured = profile.logs === "structured";
  klog.write(
    "I",
    profile.endpoints.startSource,
    isStructured ? structured(text, { logger }) : text,
  );
}

/** All Endpoints there are: from the cache, or asked for at the cost of a request. */
async function leftovers(
  { profile, informers, client, klog }: ControllerOptions,
  signal: AbortSignal,
): Promise<Iterable<WholeObject>> {
  if (profile.endpoints.leftoversFrom === "cache") return informers.endpoints().store;
  try {
    const path = collectionPath(wholeEndpoints);
    const response = await client.request({ verb: "list", method: "GET", path, signal });
    return listAt(objectRecord(parseJson(response)), "items").map((item) =>
      wholeEndpoints.project(item),
    );
  } catch (error) {
    if (!signal.aborted) klog.write("E", "endpoints_controller.go:459", unlisted(error));
    return [];
  }
}

/** 1.7.11 endpoints_controller.go checkLeftoverEndpoints. */
function unlisted(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return (
    `Unable to list endpoints (${reason}); orphaned endpoints will not be cleaned up. (They're ` +
    "pretty harmless, but you can restart this component if you want another attempt made.)"
  );
}
