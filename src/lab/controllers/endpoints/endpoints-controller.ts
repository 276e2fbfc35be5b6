// The Endpoints controller: one object per service with a selector, written when what should be
// published differs from what is. One request per change and none otherwise, except where a version
// did more; which version it is, the profile says.
import { parseJson, StatusError } from "../../../kube/client/client.ts";
import { optionalString, type RawRecord, recordAt } from "../../../kube/kinds/fields.ts";
import { collectionPath, objectKey, objectPath, splitObjectKey } from "../../../kube/kinds/kind.ts";
import { objectRecord } from "../../../kube/kinds/metadata.ts";
import type { Service } from "../../../kube/kinds/service.ts";
import { type ControllerOptions, controllerQueue, runController } from "../controller.ts";
import { podsOf, servicesConcerned } from "../memberships.ts";
import { TriggerTimes } from "../trigger-times.ts";
import { revised, typeOf, type WholeObject, wholeEndpoints } from "../whole-object.ts";
import { isUpToDate, type PublishedEndpoints, publishedEndpoints } from "./published.ts";
import { subsetsOf } from "./subsets.ts";

/** Endpoints with it are a lock, not a service's. */
const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader";

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
    for (const key of concerned) queue.addAfter(key, batchMs);
  });
  endpoints.onChange(({ type, object }) => {
    if (type === "deleted" && rules.restoresDeleted) queue.add(objectKey(object.metadata));
  });
  const sync = new EndpointsSync(options);
  await runController(
    options,
    {
      name: "endpoints-controller",
      failure: {
        source: "endpoints_controller.go:340",
        key: "service",
        retrying: "Error syncing endpoints, retrying",
        dropped: "Dropping service out of the queue",
        verbosity: 2,
      },
      queue,
      workers: flags["concurrent-endpoint-syncs"],
      maxRetries: rules.maxRetries,
      // Services that went while nobody looked left their Endpoints behind.
      onSynced: () => {
        for (const { metadata, annotations } of endpoints.store) {
          if (annotations[leaderAnnotation] === undefined) queue.add(objectKey(metadata));
        }
      },
      sync: (key, stop) => sync.sync(key, stop),
    },
    signal,
  );
}

class EndpointsSync {
  readonly #options: ControllerOptions;
  readonly #triggerTimes = new TriggerTimes();
  /** By service: the version we replaced. While the cache shows it, the cache is behind. */
  readonly #replaced = new Map<string, string>();

  constructor(options: ControllerOptions) {
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
    if (current === undefined) await this.#create(service, next, signal);
    else await this.#update(current, next, signal);
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
      if (error instanceof StatusError && error.causes.includes("NamespaceTerminating")) return;
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
