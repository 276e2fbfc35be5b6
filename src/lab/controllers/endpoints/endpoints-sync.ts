// One sync of one service: what should be published, what is, and at most one request to make the
// one the other. Remembers what it needs from sync to sync: trigger times, and what it replaced.
import { parseJson, StatusError } from "../../../kube/client/client.ts";
import { optionalString, type RawRecord, recordAt } from "../../../kube/kinds/fields.ts";
import { collectionPath, objectKey, objectPath, splitObjectKey } from "../../../kube/kinds/kind.ts";
import { objectRecord } from "../../../kube/kinds/metadata.ts";
import type { Service } from "../../../kube/kinds/service.ts";
import type { ControllerOptions } from "../controller.ts";
import { type EventRecorder, referenceTo } from "../event-recorder.ts";
import { podsOf } from "../memberships.ts";
import { TriggerTimes } from "../trigger-times.ts";
import { revised, typeOf, type WholeObject, wholeEndpoints } from "../whole-object.ts";
import { isUpToDate, type PublishedEndpoints, publishedEndpoints } from "./published.ts";
import { subsetsOf } from "./subsets.ts";

export interface EndpointsSyncOptions
  extends Pick<ControllerOptions, "client" | "informers" | "profile"> {
  readonly events: Pick<EventRecorder, "tell">;
}

export class EndpointsSync {
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
      if (rules.recordsFailures && !signal.aborted) this.#tell(service, current, error);
      throw error;
    }
  }

  #tell({ metadata }: Service, current: WholeObject | undefined, error: unknown): void {
    const { namespace, name } = metadata;
    const reason = error instanceof Error ? error.message : String(error);
    const place = `${namespace}/${name}: ${reason}`;
    // The object that is to be created names no namespace yet, so that its events land in `default`.
    const involved = { kind: "Endpoints", apiVersion: "v1", namespace: "", name };
    this.#options.events.tell(
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
