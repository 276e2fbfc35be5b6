// The Endpoints controller: one object per service with a selector, written when the wanted subsets
// differ from the published ones. One request per change and none otherwise, except where the version
// of the profile did more.
import { structured } from "../../../components/klog.ts";
import { parseJson, StatusError } from "../../../kube/client/client.ts";
import { listAt, optionalString, type RawRecord, recordAt } from "../../../kube/kinds/fields.ts";
import { collectionPath, objectKey, objectPath, splitObjectKey } from "../../../kube/kinds/kind.ts";
import { objectRecord } from "../../../kube/kinds/metadata.ts";
import type { Service } from "../../../kube/kinds/service.ts";
import { leaderAnnotation } from "../../../kube/leader/lease-record.ts";
import { type ControllerOptions, controllerQueue, runController } from "../controller.ts";
import { EventRecorder, referenceTo } from "../event-recorder.ts";
import { podsOf, servicesConcerned } from "../memberships.ts";
import { TriggerTimes } from "../trigger-times.ts";
import { revised, typeOf, type WholeObject, wholeEndpoints } from "../whole-object.ts";
import { isUpToDate, type PublishedEndpoints, publishedEndpoints } from "./published.ts";
import { subsetsOf } from "./subsets.ts";

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
      // Services that were deleted while no controller ran left their Endpoints behind.
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

/** All Endpoints there are: from the cache, or by a request. */
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

interface EndpointsSyncOptions extends Pick<ControllerOptions, "client" | "informers" | "profile"> {
  readonly events: Pick<EventRecorder, "record">;
}

class EndpointsSync {
  readonly #options: EndpointsSyncOptions;
  readonly #triggerTimes = new TriggerTimes();
  /** By service: the version we replaced. While the cache shows it, the cache is behind. */
  readonly #replaced = new Map<string, string>();

  constructor(options: EndpointsSyncOptions) {
    this.#options = options;
  }

  async sync(key: string, signal: AbortSignal): Promise<void> {
    const { informers, profile } = this.#options;
    const { namespace, name } = splitObjectKey(key);
    const service = informers.services().store.get(namespace, name);
    if (service === undefined) {
      await this.#remove(key, signal);
      return;
    }
    const rules = profile.endpoints;
    if (rules.skipsExternalName && service.type === "ExternalName") return;
    if (service.selector === undefined) return;
    const pods = podsOf(service, informers.pods().store);
    const triggerTime = this.#triggerTimes.next(service, pods);
    const subsets = subsetsOf(service, pods, rules);
    const current = await this.#current(service, signal);
    if (current !== undefined && isUpToDate(current, service, subsets, rules)) return;
    const annotations = current?.annotations ?? {};
    const next = publishedEndpoints(service, subsets, annotations, triggerTime, rules);
    try {
      if (current === undefined) await this.#create(service, next, signal);
      else await this.#update(current, next, signal);
    } catch (error) {
      if (rules.recordsFailures && !signal.aborted) this.#record(service, current, error);
      throw error;
    }
  }

  #record({ metadata }: Service, current: WholeObject | undefined, error: unknown): void {
    const { namespace, name } = metadata;
    const reason = error instanceof Error ? error.message : String(error);
    const place = `${namespace}/${name}: ${reason}`;
    // The object that is to be created names no namespace yet, so that its events land in `default`.
    const involved = { kind: "Endpoints", apiVersion: "v1", namespace: "", name };
    this.#options.events.record(
      current === undefined ? involved : referenceTo("Endpoints", "v1", current),
      current === undefined
        ? {
            type: "Warning",
            reason: "FailedToCreateEndpoint",
            message: `Failed to create endpoint for service ${place}`,
          }
        : {
            type: "Warning",
            reason: "FailedToUpdateEndpoint",
            message: `Failed to update endpoint ${place}`,
          },
    );
  }

  async #current(service: Service, signal: AbortSignal): Promise<WholeObject | undefined> {
    const { client, informers, profile } = this.#options;
    const { namespace, name } = service.metadata;
    if (profile.endpoints.currentFrom === "live-get") {
      const path = objectPath(wholeEndpoints, service.metadata);
      try {
        const response = await client.request({ verb: "get", method: "GET", path, signal });
        return wholeEndpoints.project(parseJson(response));
      } catch (error) {
        if (error instanceof StatusError && error.code === 404) return undefined;
        throw error;
      }
    }
    const current = informers.endpoints().store.get(namespace, name);
    const key = objectKey(service.metadata);
    if (current !== undefined && this.#replaced.get(key) === current.metadata.resourceVersion) {
      throw new Error(
        "endpoints informer cache is out of date, resource version " +
          `${current.metadata.resourceVersion} already processed for endpoints ${key}`,
      );
    }
    return current;
  }

  async #create(service: Service, next: PublishedEndpoints, signal: AbortSignal): Promise<void> {
    const { namespace, name } = service.metadata;
    const { labels, annotations, subsets } = next;
    const metadata = { namespace, name, labels, annotations };
    try {
      await this.#options.client.request({
        verb: "create",
        method: "POST",
        path: collectionPath(wholeEndpoints, namespace),
        body: { ...typeOf(wholeEndpoints), metadata, subsets },
        signal,
      });
    } catch (error) {
      // The namespace is going: this would be refused for ever.
      const isEnding =
        error instanceof StatusError && error.causes.includes("NamespaceTerminating");
      if (isEnding && this.#options.profile.endpoints.leavesEndingNamespaces) return;
      throw error;
    }
  }

  async #update(
    current: WholeObject,
    { labels, annotations, subsets }: PublishedEndpoints,
    signal: AbortSignal,
  ): Promise<void> {
    const response = await this.#options.client.request({
      verb: "update",
      method: "PUT",
      path: objectPath(wholeEndpoints, current.metadata),
      body: revised(wholeEndpoints, current, { labels, annotations, fields: { subsets } }),
      signal,
    });
    const replaced = current.metadata.resourceVersion;
    // A PUT that changes nothing leaves the version as it was, and the cache is right.
    if (
      this.#options.profile.endpoints.staleGuard &&
      versionOf(objectRecord(parseJson(response))) !== replaced
    ) {
      this.#replaced.set(objectKey(current.metadata), replaced);
    }
  }

  async #remove(key: string, signal: AbortSignal): Promise<void> {
    try {
      const path = objectPath(wholeEndpoints, splitObjectKey(key));
      await this.#options.client.request({ verb: "delete", method: "DELETE", path, signal });
    } catch (error) {
      if (!(error instanceof StatusError && error.code === 404)) throw error;
    }
    this.#triggerTimes.forget(key);
    this.#replaced.delete(key);
  }
}

function versionOf(object: RawRecord): string | undefined {
  return optionalString(recordAt(object, "metadata"), "resourceVersion");
}
