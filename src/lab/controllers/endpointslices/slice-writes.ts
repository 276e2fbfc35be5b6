// The requests that carry out a plan for a service's slices: one for each slice that changes, and
// for each a note of what the cache should show next.
import { parseJson, StatusError } from "../../../kube/client/client.ts";
import { collectionPath, objectKey, objectPath } from "../../../kube/kinds/kind.ts";
import type { Service } from "../../../kube/kinds/service.ts";
import type { ControllerOptions } from "../controller.ts";
import { triggerTimeAnnotation } from "../endpoints/published.ts";
import { revised, wholeSlices } from "../whole-object.ts";
import {
  labelsFor,
  newSliceBody,
  type PublishedSlice,
  type WantedSlice,
} from "./published-slice.ts";
import type { SliceMetrics, WantedTraffic } from "./slice-metrics.ts";
import type { SlicePlan } from "./slice-plan.ts";
import type { SliceTracker } from "./slice-tracker.ts";

export interface SliceWritesOptions extends Pick<ControllerOptions, "client"> {
  readonly tracker: SliceTracker;
  readonly metrics: SliceMetrics;
}

type Annotations = Readonly<Record<string, string>>;

/** What all slices of one sync have in common. */
export interface WriteContext {
  readonly annotations: Annotations;
  readonly traffic: WantedTraffic;
}

export class SliceWrites {
  readonly #options: SliceWritesOptions;

  constructor(options: SliceWritesOptions) {
    this.#options = options;
  }

  /** Rejects with the controller's own words at the first request that fails (finalize). */
  async carryOut(
    service: Service,
    { create, update, remove }: SlicePlan,
    { annotations, traffic }: WriteContext,
    signal: AbortSignal,
  ): Promise<void> {
    const key = objectKey(service.metadata);
    // A service on its way out gets no new slices: the garbage collector is after the old ones.
    const isLeaving = service.metadata.deletionTimestamp !== undefined;
    for (const slice of isLeaving ? [] : create) {
      try {
        await this.#create(service, slice, annotations, signal);
      } catch (error) {
        // The namespace is going: this would be refused for ever.
        if (error instanceof StatusError && error.causes.includes("NamespaceTerminating")) return;
        throw failure(`failed to create EndpointSlice for Service ${key}`, error);
      }
    }
    for (const slice of update) {
      const name = slice.object?.metadata.name ?? "";
      await this.#update(service, slice, annotations, signal).catch((error: unknown) => {
        throw failure(`failed to update ${name} EndpointSlice for Service ${key}`, error);
      });
    }
    for (const slice of remove) await this.remove(service, slice, "failed to delete", signal);
    this.#options.metrics.carriedOut(create.length + update.length + remove.length, traffic);
  }

  /** `words` begin the error. */
  async remove(
    service: Service,
    { object }: PublishedSlice,
    words: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, tracker, metrics } = this.#options;
    const key = objectKey(service.metadata);
    const path = objectPath(wholeSlices, object.metadata);
    try {
      await client.request({ verb: "delete", method: "DELETE", path, signal });
    } catch (error) {
      throw failure(`${words} ${object.metadata.name} EndpointSlice for Service ${key}`, error);
    }
    tracker.expectDeletion(key, object.metadata);
    metrics.changed("delete");
  }

  async #create(
    service: Service,
    slice: WantedSlice,
    annotations: Annotations,
    signal: AbortSignal,
  ): Promise<void> {
    const path = collectionPath(wholeSlices, service.metadata.namespace);
    const body = newSliceBody(service, slice, annotations);
    await this.#write(service, { verb: "create", method: "POST", path, body, signal });
  }

  async #update(
    service: Service,
    slice: WantedSlice,
    annotations: Annotations,
    signal: AbortSignal,
  ): Promise<void> {
    const { object, ports, endpoints, isReplacement, isRelabelled } = slice;
    if (object === undefined) return;
    const { [triggerTimeAnnotation]: _, ...kept } = object.annotations;
    const body = isReplacement
      ? newSliceBody(service, slice, annotations)
      : revised(wholeSlices, object, {
          ...(isRelabelled ? { labels: labelsFor(service) } : {}),
          annotations: { ...kept, ...annotations },
          fields: { ports, endpoints },
        });
    const path = objectPath(wholeSlices, object.metadata);
    await this.#write(service, { verb: "update", method: "PUT", path, body, signal });
  }

  async #write(
    service: Service,
    request: Parameters<ControllerOptions["client"]["request"]>[0] & {
      readonly verb: "create" | "update";
    },
  ): Promise<void> {
    const { client, tracker, metrics } = this.#options;
    const response = await client.request(request);
    const { metadata, generation } = wholeSlices.project(parseJson(response));
    tracker.wrote(objectKey(service.metadata), metadata.uid, generation);
    metrics.changed(request.verb);
  }
}

function failure(what: string, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  return new Error(`${what}: ${reason}`, { cause: error });
}
