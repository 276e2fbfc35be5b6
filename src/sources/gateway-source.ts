// The objects of the Gateway API in the access cluster. Their definitions may be missing or be
// installed later: the API server is asked which it has, and nothing is watched, nor is any permission
// needed, while it has none. Of a status, which the leader itself writes, only the addresses of a
// Gateway matter to routes.
import { isDeepStrictEqual } from "node:util";
import type { Registry } from "prom-client";
import type { Environment } from "../environment/environment.ts";
import type { CancelTimer } from "../environment/timers.ts";
import { type KubeClient, parseJson, StatusError } from "../kube/client/client.ts";
import { type BackendTlsPolicy, backendTlsPolicyKind } from "../kube/kinds/backend-tls-policy.ts";
import { isRecord, listAt } from "../kube/kinds/fields.ts";
import { addressesInStatus, type Gateway, gatewayKind } from "../kube/kinds/gateway.ts";
import {
  type GatewayClass,
  type GatewayVersion,
  gatewayClassKind,
  gatewayGroup,
} from "../kube/kinds/gateway-class.ts";
import { grpcRouteKind } from "../kube/kinds/grpc-route.ts";
import { type HttpRoute, httpRouteKind } from "../kube/kinds/http-route.ts";
import type { Kind, Projected } from "../kube/kinds/kind.ts";
import { type ReferenceGrant, referenceGrantKind } from "../kube/kinds/reference-grant.ts";
import { Reflector } from "../kube/reflector/reflector.ts";
import type { KnownBefore } from "../kube/reflector/reflector-removals.ts";
import type { Change } from "../kube/store/store-change.ts";
import type { InputChange } from "./ingress-source.ts";
import { type WatchStatus, watchStatus } from "./watch-status.ts";

export interface GatewaySourceOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  /** Called synchronously when what is asked for may have changed. */
  readonly onRoutes: (change?: InputChange) => void;
  readonly knownBefore?: KnownBefore;
  readonly metrics?: Registry;
}

/** The resources, as the API server names them. */
export const gatewayResources = [
  "gatewayclasses",
  "gateways",
  "httproutes",
  "grpcroutes",
  "referencegrants",
  "backendtlspolicies",
] as const;

export type GatewayResource = (typeof gatewayResources)[number];

type Versions = Readonly<Partial<Record<GatewayResource, GatewayVersion>>>;

/** Of the resources that the API server has. Without ReferenceGrants nothing is granted. */
interface GatewayWatches {
  gatewayclasses?: Reflector<GatewayClass>;
  gateways?: Reflector<Gateway>;
  httproutes?: Reflector<HttpRoute>;
  grpcroutes?: Reflector<HttpRoute>;
  referencegrants?: Reflector<ReferenceGrant>;
  backendtlspolicies?: Reflector<BackendTlsPolicy>;
}

/** Without one of these there is no Gateway API. */
const needed: readonly GatewayResource[] = ["gatewayclasses", "gateways", "httproutes"];

/** The first that serves a resource is used; their fields are the same. */
const knownVersions: readonly GatewayVersion[] = ["v1", "v1beta1"];

/** So long installed definitions may stay unnoticed. */
export const lookAgainMs = 30_000;

const requestDeadlineMs = 10_000;

export class GatewaySource {
  readonly #options: GatewaySourceOptions;
  readonly #abort = new AbortController();
  readonly #followers = new Set<() => void>();
  readonly #watches: GatewayWatches = {};
  #versions: Versions = {};
  /** The API server has said that it has no such kinds. */
  #isAbsent = false;
  #cancelLook: CancelTimer | undefined;
  #looking: Promise<void> | undefined;

  constructor(options: GatewaySourceOptions) {
    this.#options = options;
  }

  get cluster(): string {
    return this.#options.cluster;
  }

  get classes(): readonly GatewayClass[] {
    return this.#watches.gatewayclasses?.store.snapshot() ?? [];
  }

  get gateways(): readonly Gateway[] {
    return this.#watches.gateways?.store.snapshot() ?? [];
  }

  /** HTTPRoutes, then GRPCRoutes. */
  get routes(): readonly HttpRoute[] {
    const { httproutes, grpcroutes } = this.#watches;
    const ofHttp = httproutes?.store.snapshot() ?? [];
    const ofGrpc = grpcroutes?.store.snapshot() ?? [];
    return ofGrpc.length === 0 ? ofHttp : [...ofHttp, ...ofGrpc];
  }

  get grants(): readonly ReferenceGrant[] {
    return this.#watches.referencegrants?.store.snapshot() ?? [];
  }

  get policies(): readonly BackendTlsPolicy[] {
    return this.#watches.backendtlspolicies?.store.snapshot() ?? [];
  }

  /** The version in which a resource is watched; undefined while it is not. */
  version(resource: GatewayResource): GatewayVersion | undefined {
    return this.#versions[resource];
  }

  /** Each watch with its state; empty where the cluster has no Gateway API. */
  watches(): readonly (readonly [GatewayResource, WatchStatus])[] {
    return gatewayResources.flatMap((one) => {
      const watch = this.#watches[one];
      return watch === undefined ? [] : [[one, watchStatus(watch)] as const];
    });
  }

  /** Whether it is known what is asked for: there is no Gateway API, or all of it was listed. */
  get settled(): boolean {
    const watches = Object.values(this.#watches);
    if (watches.length === 0) return this.#isAbsent;
    return watches.every((watch) => watch.synced || watchStatus(watch).state === "refused");
  }

  /** Calls back synchronously whenever any object may have changed, status included. */
  follow(listener: () => void): () => void {
    this.#followers.add(listener);
    return () => void this.#followers.delete(listener);
  }

  /** A second call does nothing. */
  start(): void {
    this.#looking ??= this.#look();
  }

  /** Resolves when nothing of it goes on any more. Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error("Gateways are not needed any more"));
    this.#cancelLook?.();
    await this.#looking;
    await Promise.all(gatewayResources.map(async (one) => await this.#watches[one]?.stop()));
  }

  /** Until all are watched: their definitions may be installed one after the other, or some later. */
  async #look(): Promise<void> {
    const { timers, log, cluster } = this.#options;
    try {
      const versions = await this.#served();
      if (this.#abort.signal.aborted) return;
      if (needed.every((one) => versions[one] !== undefined)) this.#watch(versions);
      else this.#isAbsent = true;
      if (gatewayResources.every((one) => this.#watches[one] !== undefined)) return;
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      log.warn("cannot read whether the cluster has the Gateway API", { cluster, error });
    }
    this.#cancelLook = timers.after(lookAgainMs, () => {
      this.#looking = this.#look();
    });
  }

  /** By resource, the version in which the API server has it. */
  async #served(): Promise<Versions> {
    const found: Partial<Record<GatewayResource, GatewayVersion>> = {};
    for (const version of knownVersions) {
      const names = await this.#resourcesOf(version);
      for (const one of gatewayResources) if (names.has(one)) found[one] ??= version;
    }
    return found;
  }

  async #resourcesOf(version: GatewayVersion): Promise<ReadonlySet<unknown>> {
    const limits = { deadlineMs: requestDeadlineMs, signal: this.#abort.signal };
    const path = `/apis/${gatewayGroup}/${version}`;
    try {
      const request = { verb: "get", method: "GET", path, ...limits } as const;
      const answer = parseJson(await this.#options.client.request(request));
      const resources = isRecord(answer) ? listAt(answer, "resources").filter(isRecord) : [];
      return new Set(resources.map((one) => one["name"]));
    } catch (error) {
      // One that may not even be asked is as good as none.
      const isRefused = error instanceof StatusError && [401, 403].includes(error.code);
      if (isRefused || (error instanceof StatusError && error.code === 404)) return new Set();
      throw error;
    }
  }

  /** Those that are not watched yet, in the first version in which each was found. */
  #watch(found: Versions): void {
    const versions = { ...found, ...this.#versions };
    this.#versions = versions;
    const watches = this.#watches;
    const { gatewayclasses, gateways, httproutes, grpcroutes } = versions;
    const { referencegrants, backendtlspolicies } = versions;
    if (gatewayclasses) watches.gatewayclasses ??= this.#started(gatewayClassKind(gatewayclasses));
    if (gateways) watches.gateways ??= this.#started(gatewayKind(gateways));
    if (httproutes) watches.httproutes ??= this.#started(httpRouteKind(httproutes));
    if (grpcroutes) watches.grpcroutes ??= this.#started(grpcRouteKind(grpcroutes));
    if (referencegrants) {
      watches.referencegrants ??= this.#started(referenceGrantKind(referencegrants));
    }
    if (backendtlspolicies) {
      watches.backendtlspolicies ??= this.#started(backendTlsPolicyKind(backendtlspolicies));
    }
  }

  #started<T extends Projected>(kind: Kind<T>): Reflector<T> {
    const reflector = new Reflector<T>({
      ...this.#options,
      kind,
      indexes: {},
      handlers: [
        (change) => {
          if (hasNewInputs(change)) this.#options.onRoutes(inputOf(change.object));
          for (const follower of this.#followers) follower();
        },
      ],
    });
    reflector.start();
    return reflector;
  }
}

/** A class has no namespace, and is about the Gateways of any. */
function inputOf({ metadata: { namespace } }: Projected): InputChange | undefined {
  return namespace === "" ? undefined : { namespace, size: 1 };
}

/** Whether anything but its version and its status, of which the addresses are read, changed. */
function hasNewInputs(change: Change<Projected>): boolean {
  if (change.type !== "updated") return true;
  return !isDeepStrictEqual(inputsOf(change.previous), inputsOf(change.object));
}

function inputsOf(object: Projected): object {
  const { resourceVersion: _, ...metadata } = object.metadata;
  const addresses = "status" in object ? addressesInStatus(object) : undefined;
  return { ...object, metadata, status: addresses };
}
