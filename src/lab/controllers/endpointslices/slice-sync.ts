// One sync of one service: the wanted slices, the present ones, and the fewest writes that lead from
// one to the other. A pod whose node does not exist is left out, logged, and tried again.
import { structured } from "../../../components/klog.ts";
import { parseJson, StatusError } from "../../../kube/client/client.ts";
import { collectionPath, objectKey, objectPath, splitObjectKey } from "../../../kube/kinds/kind.ts";
import type { Service } from "../../../kube/kinds/service.ts";
import type { SliceRules } from "../../versions/profile.ts";
import type { ControlledService } from "../controlled-service.ts";
import type { ControllerOptions } from "../controller.ts";
import { goTime, triggerTimeAnnotation } from "../endpoints/published.ts";
import { type EventRecorder, referenceTo } from "../event-recorder.ts";
import { podsOf } from "../memberships.ts";
import type { OwnedPod } from "../owned-pod.ts";
import { TriggerTimes } from "../trigger-times.ts";
import { revised, type WholeObject, wholeSlices } from "../whole-object.ts";
import {
  labelsFor,
  managedByLabel,
  newSliceBody,
  type PublishedSlice,
  readSlice,
  sliceController,
  type WantedSlice,
} from "./published-slice.ts";
import { type AddressType, addressTypesOf, sliceGroups } from "./slice-groups.ts";
import { type Hinting, nearHints, withoutHints } from "./slice-hints.ts";
import { SliceMetrics, type WantedTraffic } from "./slice-metrics.ts";
import { planSlices, type SlicePlan } from "./slice-plan.ts";
import { SliceTracker } from "./slice-tracker.ts";
import { TopologyCache, type TopologyEvent } from "./topology-cache.ts";

export const sliceLogger = "endpointslice-controller";

/** The cache does not show the last writes yet: a reason to wait, and nothing to report. */
class StaleCacheError extends Error {}

/** The slices of a service for one address family. */
interface Family {
  readonly service: ControlledService;
  readonly pods: readonly OwnedPod[];
  readonly addressType: AddressType;
  readonly existing: readonly PublishedSlice[];
  readonly annotations: Readonly<Record<string, string>>;
}

export class SliceSync {
  readonly tracker = new SliceTracker();
  readonly topology = new TopologyCache();
  readonly #options: ControllerOptions;
  readonly #rules: SliceRules;
  readonly #events: EventRecorder;
  readonly #metrics: SliceMetrics;
  readonly #writes: SliceWrites;
  readonly #triggerTimes = new TriggerTimes();

  constructor(options: ControllerOptions, rules: SliceRules, events: EventRecorder) {
    const { registry, flags, client } = options;
    const metrics = new SliceMetrics({ registry, maxEndpoints: flags["max-endpoints-per-slice"] });
    this.#options = options;
    this.#rules = rules;
    this.#events = events;
    this.#metrics = metrics;
    this.#writes = new SliceWrites({ client, tracker: this.tracker, metrics });
  }

  async sync(key: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#sync(key, signal);
      this.#metrics.synced("success");
    } catch (error) {
      this.#metrics.synced(error instanceof StaleCacheError ? "stale" : "error");
      throw error;
    }
  }

  async #sync(key: string, signal: AbortSignal): Promise<void> {
    const { informers } = this.#options;
    const { namespace, name } = splitObjectKey(key);
    const service = informers.services().store.get(namespace, name);
    if (service === undefined) {
      this.#triggerTimes.forget(key);
      this.#metrics.gone(key);
      this.tracker.forget(key);
      return;
    }
    if (service.type === "ExternalName" || service.selector === undefined) return;
    const pods = podsOf(service, informers.pods().store);
    const existing = [...informers.slices().store.byIndex("service", key)].filter(
      (slice) => isManaged(slice) && slice.metadata.deletionTimestamp === undefined,
    );
    if (this.tracker.isStale(key, existing)) {
      throw new StaleCacheError("EndpointSlice informer cache is out of date");
    }
    const triggerTime = this.#triggerTimes.next(service, pods);
    const annotations: Family["annotations"] =
      triggerTime === undefined ? {} : { [triggerTimeAnnotation]: goTime(triggerTime) };
    const failures = await this.#reconcile(service, pods, existing.map(readSlice), {
      annotations,
      signal,
    });
    if (failures.length > 0) this.#fail(service, failures);
  }

  /** Returns the error as text: neither family waits for the other. */
  async #reconcile(
    service: ControlledService,
    pods: readonly OwnedPod[],
    published: readonly PublishedSlice[],
    { annotations, signal }: Pick<Family, "annotations"> & { readonly signal: AbortSignal },
  ): Promise<readonly string[]> {
    const failures: string[] = [];
    const families = addressTypesOf(service);
    const attempt = async (work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        if (signal.aborted) throw error;
        failures.push(error instanceof Error ? error.message : String(error));
      }
    };
    for (const addressType of families) {
      const existing = published.filter((slice) => slice.addressType === addressType);
      const family = { service, pods, addressType, existing, annotations };
      await attempt(() => this.#reconcileFamily(family, failures, signal));
    }
    for (const slice of published) {
      if (families.some((family) => family === slice.addressType)) continue;
      this.topology.forget(objectKey(service.metadata), slice.addressType);
      await attempt(() => this.#writes.remove(service, slice, "error deleting", signal));
    }
    return failures;
  }

  async #reconcileFamily(family: Family, failures: string[], signal: AbortSignal): Promise<void> {
    const { informers, klog, flags } = this.#options;
    const { service, pods, addressType, existing, annotations } = family;
    const key = objectKey(service.metadata);
    const nodes = informers.nodes().store;
    const { hash, skippedSource } = this.#rules;
    const nodeNamed = (node: string) => nodes.get("", node);
    const wanted = sliceGroups({ service, pods, addressType, nodeNamed, hash });
    for (const { metadata, nodeName: node } of wanted.withoutNode) {
      const values = { logger: sliceLogger, pod: objectKey(metadata), service: key, node };
      const line = structured("skipping Pod for Service, Node not found", values);
      klog.write("I", skippedSource, line);
      failures.push(`skipping Pod ${metadata.name} for Service ${key}: Node ${node} Not Found`);
    }
    const maxEndpoints = flags["max-endpoints-per-slice"];
    const { groups } = wanted;
    const events: TopologyEvent[] = [];
    const hinting = this.#hinting(service, addressType, events);
    const slices = { existing, groups, maxEndpoints, hash, hinting };
    const plan = planSlices({ service, addressType, ...slices });
    this.#metrics.planned(key, plan.counts);
    const traffic = this.#traffic(service);
    try {
      await this.#writes.carryOut(service, plan, { annotations, traffic }, signal);
    } finally {
      for (const event of events) this.#events.record(referenceTo("Service", "v1", service), event);
    }
  }

  /** Its Events go to `events` when the slices are planned. */
  #hinting(service: ControlledService, addressType: AddressType, events: TopologyEvent[]): Hinting {
    const key = objectKey(service.metadata);
    const { topology, traffic_distribution } = this.#traffic(service);
    if (topology === "Auto") {
      return (slices) => {
        const { events: topologyEvents, ...hinted } = this.topology.add(key, addressType, slices);
        events.push(...topologyEvents);
        return hinted;
      };
    }
    events.push(...this.topology.remove(key, addressType));
    return traffic_distribution === ""
      ? withoutHints
      : nearHints({ nodes: traffic_distribution === "PreferSameNode" });
  }

  /** The annotation goes before the field (reconciler.go finalize). */
  #traffic({ annotations, trafficDistribution = "" }: ControlledService): WantedTraffic {
    if (asksForHints(annotations)) return { topology: "Auto", traffic_distribution: "" };
    const isObeyed = this.#rules.trafficDistributions.includes(trafficDistribution);
    return { topology: "Disabled", traffic_distribution: isObeyed ? trafficDistribution : "" };
  }

  /** utilerrors.NewAggregate: each once, in brackets when there are several. */
  #fail(service: Service, failures: readonly string[]): never {
    const different = [...new Set(failures)];
    const text = different.length === 1 ? different.join() : `[${different.join(", ")}]`;
    const key = objectKey(service.metadata);
    this.#events.record(referenceTo("Service", "v1", service), {
      type: "Warning",
      reason: "FailedToUpdateEndpointSlices",
      message: `Error updating Endpoint Slices for Service ${key}: ${text}`,
    });
    throw new Error(text);
  }
}

/** utils.go hintsEnabled: the older annotation goes first. */
function asksForHints(annotations: ControlledService["annotations"]): boolean {
  const asked =
    annotations["service.kubernetes.io/topology-aware-hints"] ??
    annotations["service.kubernetes.io/topology-mode"];
  return asked === "Auto" || asked === "auto";
}

export function isManaged({ metadata }: WholeObject): boolean {
  return metadata.labels[managedByLabel] === sliceController;
}

interface SliceWritesOptions extends Pick<ControllerOptions, "client"> {
  readonly tracker: SliceTracker;
  readonly metrics: SliceMetrics;
}

type Annotations = Readonly<Record<string, string>>;

/** Values shared by all slices of one sync. */
interface WriteContext {
  readonly annotations: Annotations;
  readonly traffic: WantedTraffic;
}

class SliceWrites {
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
