// Writes the status of GatewayClasses, Gateways and HTTPRoutes while this replica leads, each only where
// it is not what it should be. A write carries the version it was decided from. A status that another
// client keeps changing back is left alone for longer and longer.

import type {
  DecidedHttpRoute,
  GatewayDecision,
} from "../../decide/routing/gateway/gateway-front-end.ts";
import {
  backendTlsPolicyStatus,
  type DesiredStatus,
  gatewayClassStatus,
  gatewayStatus,
  type HostProblems,
  httpRouteStatus,
  leftRouteStatus,
} from "../../decide/status/gateway-status.ts";
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { type KubeClient, StatusError } from "../../kube/client/client.ts";
import { backendTlsPolicyKind } from "../../kube/kinds/backend-tls-policy.ts";
import { gatewayKind } from "../../kube/kinds/gateway.ts";
import { gatewayClassKind } from "../../kube/kinds/gateway-class.ts";
import { grpcRouteKind } from "../../kube/kinds/grpc-route.ts";
import { type HttpRoute, httpRouteKind } from "../../kube/kinds/http-route.ts";
import type { LoadBalancerAddress } from "../../kube/kinds/ingress.ts";
import {
  objectKey,
  objectPath,
  type Projected,
  type ResourcePlace,
} from "../../kube/kinds/kind.ts";
import { Workqueue } from "../../kube/workqueue/workqueue.ts";
import { runWorkers } from "../../kube/workqueue/workqueue-workers.ts";
import type { GatewaySource } from "../../sources/gateway-source.ts";

/** The decision, and the objects as they are now. */
export interface DecidedGateways {
  readonly source: Pick<
    GatewaySource,
    "classes" | "gateways" | "routes" | "policies" | "version" | "settled" | "follow"
  >;
  readonly decision: () => GatewayDecision;
  /** Whether any decision has been made. */
  readonly isDecided: () => boolean;
  /** The names of a route that are another's. */
  readonly takenHosts: (route: DecidedHttpRoute) => HostProblems;
  /** Calls back after each decision. */
  readonly follow: (listener: () => void) => () => void;
}

export interface GatewayStatusWriterOptions extends Pick<Environment, "clock" | "timers" | "log"> {
  readonly client: KubeClient;
  readonly gateways: DecidedGateways;
  readonly addresses: readonly LoadBalancerAddress[];
}

const allKey = "all";
const holdOffMs = 50;
const resyncEveryMs = 60_000;
const requestDeadlineMs = 10_000;
const firstRestMs = 1_000;
const longestRestMs = 300_000;
const maxRetries = 15;

/** Refusals of one object's status, which say nothing about those of others. */
const refusesObject: ReadonlySet<number> = new Set([400, 413, 422]);
const forbiddenCode = 403;

interface Written {
  readonly text: string;
  readonly at: MonotonicMs;
  readonly restMs: number;
}

export class GatewayStatusWriter {
  readonly #options: GatewayStatusWriterOptions;
  readonly #written = new Map<string, Written>();
  /** By uid, the routes whose status is as it should be, as they and their decisions were then. */
  #right = new Map<string, { readonly object: HttpRoute; readonly found: DecidedHttpRoute }>();

  constructor(options: GatewayStatusWriterOptions) {
    this.#options = options;
  }

  /** Runs until the term ends. */
  async run(leading: AbortSignal): Promise<void> {
    const { gateways, clock, timers, log } = this.#options;
    const queue = new Workqueue({ clock, timers, name: "gateway-status" });
    const soon = (): void => queue.addAfter(allKey, holdOffMs);
    const leave = [gateways.follow(soon), gateways.source.follow(soon)];
    const again = (): void => {
      soon();
      cancel = timers.after(resyncEveryMs, again);
    };
    let cancel = timers.after(0, again);
    const sync = async (): Promise<void> => {
      if (!gateways.isDecided() || !gateways.source.settled) return;
      const restMs = await this.#writeAll(leading);
      if (restMs > 0) queue.addAfter(allKey, restMs);
    };
    try {
      await runWorkers({ queue, workers: 1, sync, maxRetries, log, signal: leading });
    } finally {
      cancel();
      for (const end of leave) end();
      queue.shutDown();
      this.#written.clear();
      this.#right.clear();
    }
  }

  /**
   * How long until one that rests may be written again; 0 when none rests. One that cannot be written
   * keeps no other from its status, nor does a missing permission for one kind those of other kinds;
   * it rejects at the end.
   */
  async #writeAll(signal: AbortSignal): Promise<number> {
    const { gateways, addresses, clock } = this.#options;
    const { source, decision, takenHosts } = gateways;
    const decided = decision();
    const rests: number[] = [];
    let refusal: StatusError | undefined;
    const forbidden = new Set<string>();
    const put = async (
      place: ResourcePlace | undefined,
      object: Projected,
      desired: (now: ReturnType<typeof clock.wallMs>) => DesiredStatus,
    ): Promise<void> => {
      if (place === undefined || forbidden.has(place.resource) || signal.aborted) return;
      const status = desired(clock.wallMs());
      if (status === undefined) return;
      try {
        const restMs = await this.#write(place, object, status, signal);
        if (restMs > 0) rests.push(restMs);
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        if (error.code === forbiddenCode) forbidden.add(place.resource);
        else if (!refusesObject.has(error.code)) throw error;
        refusal ??= error;
      }
    };
    const kindOf = {
      classes: source.version("gatewayclasses"),
      gateways: source.version("gateways"),
      http: source.version("httproutes"),
      grpc: source.version("grpcroutes"),
      policies: source.version("backendtlspolicies"),
    };
    const classPlace = kindOf.classes && gatewayClassKind(kindOf.classes);
    const gatewayPlace = kindOf.gateways && gatewayKind(kindOf.gateways);
    const routePlaces = {
      HTTPRoute: kindOf.http && httpRouteKind(kindOf.http),
      GRPCRoute: kindOf.grpc && grpcRouteKind(kindOf.grpc),
    };
    const ours = new Set(decided.classes.map(({ metadata }) => metadata.uid));
    for (const one of source.classes) {
      if (!ours.has(one.metadata.uid)) continue;
      await put(classPlace, one, (now) => gatewayClassStatus(one, now));
    }
    const ofGateway = new Map(decided.gateways.map((one) => [one.gateway.metadata.uid, one]));
    for (const one of source.gateways) {
      const found = ofGateway.get(one.metadata.uid);
      // A newer one is decided soon.
      if (found?.gateway.generation !== one.generation) continue;
      await put(gatewayPlace, one, (now) => gatewayStatus(found, one.status, addresses, now));
    }
    const ofRoute = new Map(decided.routes.map((one) => [one.route.metadata.uid, one]));
    const right = this.#right;
    this.#right = new Map();
    for (const one of source.routes) {
      const { uid } = one.metadata;
      const found = ofRoute.get(uid);
      const routePlace = routePlaces[one.kind];
      if (found === undefined) {
        await put(routePlace, one, () => leftRouteStatus(one));
      } else if (found.route.generation === one.generation) {
        const taken = takenHosts(found);
        const known = right.get(uid);
        const isKnown = known?.object === one && known.found === found;
        if (taken.messages.length === 0 && isKnown) {
          this.#right.set(uid, known);
          continue;
        }
        await put(routePlace, one, (now) => {
          const desired = httpRouteStatus(found, one.status, taken, now);
          if (desired === undefined && taken.messages.length === 0) {
            this.#right.set(uid, { object: one, found });
          }
          return desired;
        });
      }
    }
    const policyPlace = kindOf.policies && backendTlsPolicyKind(kindOf.policies);
    const ofPolicy = new Map(decided.policies.map((one) => [one.policy.metadata.uid, one]));
    for (const one of source.policies) {
      const found = ofPolicy.get(one.metadata.uid);
      if (found?.policy.generation !== one.generation) continue;
      await put(policyPlace, one, (now) => backendTlsPolicyStatus(found, one.status, now));
    }
    if (refusal !== undefined) throw refusal;
    return rests.length === 0 ? 0 : Math.min(...rests);
  }

  async #write(
    place: ResourcePlace,
    object: Projected,
    status: NonNullable<DesiredStatus>,
    signal: AbortSignal,
  ): Promise<number> {
    const { client, clock, log } = this.#options;
    const { metadata } = object;
    const key = `${place.resource} ${objectKey(metadata)}`;
    const text = JSON.stringify(status);
    const before = this.#written.get(key);
    const now = clock.monotonicMs();
    const isUndone = before?.text === text;
    const leftMs = isUndone ? before.restMs - elapsedMs(before.at, now) : 0;
    if (leftMs > 0) return Math.ceil(leftMs);
    try {
      await client.request({
        verb: "patch",
        method: "PATCH",
        path: objectPath(place, metadata, "status"),
        contentType: "application/merge-patch+json",
        body: { metadata: { resourceVersion: metadata.resourceVersion }, status },
        deadlineMs: requestDeadlineMs,
        signal,
      });
      const restMs = isUndone ? Math.min(2 * before.restMs, longestRestMs) : firstRestMs;
      this.#written.set(key, { text, at: now, restMs });
      log.debug("wrote the status of an object of the Gateway API", { object: key });
      return 0;
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return 0;
      // The newer version comes by the watch, and with it the next try.
      if (error instanceof StatusError && error.code === 409) return firstRestMs;
      throw error;
    }
  }
}
