// One Kubernetes API server. Several may share one storage, each with its own watch caches and its
// own faults. The same code serves real HTTPS and the simulated network.
//
// A request passes: `handle` here → authentication (access/) → route (http/route.ts) →
// impersonation, priority and fairness, authorization (http/request-gate.ts) → injected faults
// (faults.ts) → http/resource-handler.ts, which decodes the body (decode/), makes the
// RequestContext and calls a verb (verbs/, patch/, apply/) → the kind's defaults, rules and
// allocation (kinds/) → the store of the kind (listwatch/) → the storage (storage/). The answer
// takes the form the client accepts (tables/, http/answer.ts).
//
// Where to add
// - a column of `kubectl get`, a default, a validation or a warning: the kind's file in kinds/
// - a kind: a file in kinds/ and a line in kinds/all-kinds.ts; scripts/generate-schemas.mjs writes
//   its types to kinds/schemas.json
// - a difference between kinds: a field of ResourceKind (kinds/resource-kind.ts); no verb compares
//   the names of kinds
import { Registry } from "prom-client";
import { noPodLogs, type PodLogs } from "../components/pod-logs.ts";
import type { Clock } from "../environment/clock.ts";
import type { Log } from "../environment/log.ts";
import type {
  ExchangeHandler,
  Headers,
  IncomingRequest,
  Listener,
  ListenOptions,
  Network,
} from "../environment/network.ts";
import type { Random } from "../environment/random.ts";
import type { Timers } from "../environment/timers.ts";
import { AccessControl } from "./access/access-control.ts";
import type { AuthorizationMode } from "./access/authorizer.ts";
import { ApiError } from "./api-error.ts";
import type { TrackFrom } from "./apply/field-ownership.ts";
import { FieldTracking } from "./apply/field-tracking.ts";
import { CustomResources } from "./custom/custom-resources.ts";
import { customResourceDefinitionKind } from "./custom/definition-kind.ts";
import { ApiServerFaults, ConnectionResetFault, type FaultSubject } from "./faults.ts";
import { FlowControl } from "./flow/flow-control.ts";
import {
  type Answer,
  errorAnswer,
  internalError,
  send,
  storageRefusal,
  warningHeader,
} from "./http/answer.ts";
import type { Authentication, User } from "./http/authentication.ts";
import { Health } from "./http/health.ts";
import { otherAnswer, publicAnswer } from "./http/other-paths.ts";
import { type PodListensAt, PodProxy } from "./http/pod-proxy.ts";
import { RequestGate } from "./http/request-gate.ts";
import {
  type RequestMetricsForm,
  requestMetrics,
  requestMetrics133,
} from "./http/request-metrics.ts";
import {
  auditIds,
  clientGoneCode,
  type RequestEnd,
  type RequestObserver,
  RequestRecord,
  TrackedExchange,
} from "./http/request-record.ts";
import { ResourceHandler } from "./http/resource-handler.ts";
import { type OtherRoute, parseRoute, type Route } from "./http/route.ts";
import { ensureInitialObjects, preloadObjects } from "./initial-objects.ts";
import { allKinds } from "./kinds/all-kinds.ts";
import type { ResourceKind } from "./kinds/resource-kind.ts";
import { ServedKinds } from "./kinds/served-kinds.ts";
import { ResourceStores } from "./listwatch/resource-store.ts";
import { OpenApi } from "./openapi/openapi.ts";
import { retryUntilStorageReady } from "./storage/retry-until-storage-ready.ts";
import type { Storage } from "./storage/storage.ts";
import { Allocator } from "./verbs/allocator.ts";
import type { Backend } from "./verbs/backend.ts";

export interface ApiServerOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly network: Network;
  readonly log: Log;
  readonly storage: Storage;
  /** In logs, to distinguish the servers of one cluster. */
  readonly name: string;
  /** In the answer to /version: `v1.33.1`. */
  readonly gitVersion: string;
  readonly authentication: Authentication;
  /** Every authenticated user may do everything unless given. */
  readonly authorization?: AuthorizationMode;
  /** Bounds running requests, as priority and fairness does; unbounded unless given. */
  readonly flowControl?: { readonly seats?: number };
  /** The kinds it serves; all unless given. An old version has fewer. */
  readonly kinds?: readonly ResourceKind[];
  readonly podLogs?: PodLogs;
  /** Where a pod without an IP address listens, for its proxy: `host:port`. */
  readonly podListensAt?: PodListensAt;
  /**
   * When objects begin to have owners of their fields: `creation` is as the real server does it;
   * `first-apply`, unless given, costs nothing for objects that are never applied.
   */
  readonly trackFieldsFrom?: TrackFrom;
  /** Objects in the storage before it listens, beside those of every cluster. */
  readonly objects?: Iterable<object>;
  /**
   * How long a new definition waits before its kind is served; real servers that are several: 5 s.
   */
  readonly establishingDelayMs?: number;
  /** `objects` may exist already, in a storage that outlives the server. */
  readonly keepsExistingObjects?: boolean;
  /** Follow the storage from the start, as real servers do, not from the first request on. */
  readonly startsCaches?: boolean;
  /** Two servers in one process need two registries, as two real servers have. */
  readonly metrics?: Registry;
  /** How its version names its request metrics; as today unless given. */
  readonly requestMetrics?: RequestMetricsForm;
  /** More observers of requests: an audit log, the server's own log. */
  readonly observers?: readonly RequestObserver[];
  /**
   * Hosts whose reads must not influence those of others, each with the randomness of its watches.
   * They are served from separate caches, so all other clients get the same with them as without
   * them.
   */
  readonly isolatedReaders?: ReadonlyMap<string, Random>;
}

/** The first 1.x that lets rights to impersonate be given for some requests only. */
const constrainedImpersonationMinor = 36;

export class ApiServer {
  /** May be changed at any time. */
  readonly faults: ApiServerFaults;
  readonly metrics: Registry;
  readonly #options: ApiServerOptions;
  readonly #kinds: ServedKinds;
  readonly #log: Log;
  readonly #observers: readonly RequestObserver[];
  readonly #nextAuditId: () => string;
  readonly #stores: ResourceStores;
  /** By host: the stores of isolated readers. */
  readonly #isolatedStores: ReadonlyMap<string, ResourceStores>;
  /** Undefined where definitions are not among the kinds it serves. */
  readonly #custom: CustomResources | undefined;
  readonly #backend: Backend;
  readonly #access: AccessControl;
  readonly #openApi: OpenApi;
  readonly #gate: RequestGate;
  readonly #resources: ResourceHandler;
  readonly #health: Health;
  #listener: Listener | undefined;
  #url = "";

  constructor(options: ApiServerOptions) {
    const { clock, timers, random, storage } = options;
    this.#options = options;
    this.#health = new Health(options);
    this.#kinds = new ServedKinds(options.kinds ?? allKinds);
    this.#log = options.log.child({ apiserver: options.name });
    this.faults = new ApiServerFaults(options);
    this.metrics = options.metrics ?? new Registry();
    const form = options.requestMetrics ?? requestMetrics133;
    const meter = requestMetrics({ registry: this.metrics, form, clock });
    this.#observers = [meter, ...(options.observers ?? [])];
    this.#nextAuditId = auditIds(options.name);
    const shared = { clock, timers, random, storage, log: this.#log, faults: this.faults.cache };
    this.#stores = new ResourceStores(this.#kinds.all, { ...shared, metrics: this.metrics });
    this.#isolatedStores = new Map(
      [...(options.isolatedReaders ?? [])].map(([host, chance]) => {
        const apart = { ...shared, random: chance, metrics: new Registry() };
        return [host, new ResourceStores(this.#kinds.all, apart)];
      }),
    );
    const allocator = new Allocator({ storage, random });
    const backendOf = (stores: ResourceStores): Backend => ({
      clock,
      random,
      allocator,
      store: (kind) => stores.of(kind),
    });
    this.#backend = backendOf(this.#stores);
    this.#custom = this.#makeCustomResources();
    const { authentication, authorization: mode = "AlwaysAllow", flowControl } = options;
    const [, minor = "0"] = /^v1\.(\d+)/.exec(options.gitVersion) ?? [];
    this.#access = new AccessControl({
      backend: this.#backend,
      authentication,
      mode,
      constrainsImpersonation: Number(minor) >= constrainedImpersonationMinor,
    });
    const flow =
      flowControl && new FlowControl({ clock, timers, metrics: this.metrics, ...flowControl });
    this.#gate = new RequestGate({ access: this.#access, flow });
    this.#openApi = new OpenApi(options);
    const podLogs = options.podLogs ?? noPodLogs;
    const trackFrom = options.trackFieldsFrom ?? "first-apply";
    const fieldTracking = new FieldTracking({ clock, kinds: this.#kinds, trackFrom });
    this.#resources = new ResourceHandler({
      fieldTracking,
      backend: this.#backend,
      podLogs,
      podProxy: new PodProxy(options),
      access: this.#access,
      isolatedReaders: new Map(
        [...this.#isolatedStores].map(([host, stores]) => [host, backendOf(stores)]),
      ),
    });
  }

  /** Stores the initial objects, then listens. The signal ends a wait. */
  async start(listen: ListenOptions, signal?: AbortSignal): Promise<Listener> {
    if (this.#listener !== undefined) {
      throw new Error(`the API server ${this.#options.name} has been started before`);
    }
    const patience = { ...this.#options, log: this.#log, signal };
    await retryUntilStorageReady(patience, async () => {
      await ensureInitialObjects(this.#backend);
      await preloadObjects(this.#backend, this.#kinds.all, this.#options);
      await this.#access.start();
    });
    await this.#custom?.start();
    if (this.#options.startsCaches === true) this.#stores.start();
    this.#listener = await this.#options.network.listen(listen, this.handle);
    this.#url = urlOf(listen, this.#listener.port);
    return this.#listener;
  }

  /** Ends every watch and stops listening. Idempotent. */
  async stop(): Promise<void> {
    this.#access.stop();
    this.#custom?.stop();
    for (const stores of this.#allStores()) stores.stop();
    await this.#listener?.close();
  }

  readonly handle: ExchangeHandler = async (exchange) => {
    const record = new RequestRecord({
      request: exchange.request,
      clock: this.#options.clock,
      nextAuditId: this.#nextAuditId,
      observers: this.#observers,
    });
    const tracked = new TrackedExchange(exchange, (status) => record.responding(status));
    let end: RequestEnd = { code: 200, contentType: "" };
    try {
      const answer = await this.#serve(tracked, record);
      if (answer !== undefined) {
        end = { code: answer.status, contentType: answer.contentType };
        send(tracked, answer);
      }
    } catch (error) {
      end = this.#refuse(tracked, error, record);
    } finally {
      record.finish(end);
    }
  };

  async #serve(exchange: TrackedExchange, record: RequestRecord): Promise<Answer | undefined> {
    const { target, headers } = exchange.request;
    const path = target.split("?", 1)[0] ?? "";
    const access = this.#access;
    if (!access.isGuarded && Health.isPublic(path)) return this.#healthAnswer(target);
    const open = access.isGuarded ? undefined : publicAnswer(path, this.#options.gitVersion);
    if (open !== undefined) return open;
    const { request } = exchange;
    const addHeaders = (more: Headers): void => exchange.addHeaders(more);
    this.#gate.receive({ request, record, addHeaders });
    const known = access.authenticate(headers);
    const requestor = known instanceof Promise ? await known : known;
    record.authenticated(requestor);
    const route = this.#routeOf(exchange.request);
    if (!(route instanceof ApiError)) record.begin(route);
    const isDirect = this.#gate.isOpen && headers["impersonate-user"] === undefined;
    if (isDirect) return this.#answer(exchange, record, route, requestor);
    const passage = await this.#gate.pass({ request, record, route, addHeaders }, requestor);
    try {
      return await this.#answer(exchange, record, route, passage.user);
    } finally {
      passage.release();
    }
  }

  async #answer(
    exchange: TrackedExchange,
    { notes }: RequestRecord,
    route: Route | ApiError,
    user: User,
  ): Promise<Answer | undefined> {
    if (route instanceof ApiError) throw route;
    const warning = deprecationOf(route, this.#options.gitVersion);
    if (warning !== undefined) exchange.addHeaders({ warning: warningHeader([warning]) });
    const { request } = exchange;
    const subject = subjectOf(route, user, request.headers["user-agent"] ?? "");
    await this.faults.pass(subject, request);
    return route.type === "resource"
      ? this.#resources.handle({ route, exchange, user, notes })
      : this.#otherAnswer(request, route);
  }

  /** An unknown path is reported only to clients that are authorized for it. */
  #routeOf({ method, target }: IncomingRequest): Route | ApiError {
    try {
      return parseRoute(method, target, this.#kinds);
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
  }

  async #otherAnswer(request: IncomingRequest, route: OtherRoute): Promise<Answer> {
    const { method, headers } = request;
    return (
      publicAnswer(route.path, this.#options.gitVersion) ??
      (await this.#healthAnswer(request.target)) ??
      this.#access.openIdAnswer(route.path, this.#url) ??
      otherAnswer({
        method,
        headers,
        route,
        metrics: this.metrics,
        kinds: this.#kinds.all,
        openApi: this.#openApi,
      })
    );
  }

  #healthAnswer(target: string): Promise<Answer | undefined> {
    const [path = "", query = ""] = target.split("?", 2);
    return this.#health.answer(path, new URLSearchParams(query));
  }

  /** Answers with the error, as far as that is still possible. */
  #refuse(exchange: TrackedExchange, error: unknown, { notes }: RequestRecord): RequestEnd {
    const { request } = exchange;
    const gone: RequestEnd = { code: clientGoneCode, contentType: "" };
    if (error instanceof ConnectionResetFault) {
      exchange.abort();
      return gone;
    }
    if (request.closed.aborted) {
      return gone;
    }
    const expected = error instanceof ApiError ? error : storageRefusal(error);
    if (expected === undefined) {
      const { method, target } = request;
      this.#log.error("A request failed by a mistake of the server.", { method, target, error });
    }
    const failure = expected ?? internalError(error);
    notes.failure = failure;
    const answer = errorAnswer(failure, request.headers["accept"]);
    if (exchange.responded) {
      exchange.abort();
    } else {
      send(exchange, answer);
    }
    return { code: answer.status, contentType: answer.contentType, failure };
  }

  #allStores(): readonly ResourceStores[] {
    return [this.#stores, ...this.#isolatedStores.values()];
  }

  #makeCustomResources(): CustomResources | undefined {
    if (!this.#kinds.all.includes(customResourceDefinitionKind)) return undefined;
    return new CustomResources({
      ...this.#options,
      log: this.#log,
      faults: this.faults.cache,
      backend: this.#backend,
      kinds: this.#kinds,
      establishingDelayMs: this.#options.establishingDelayMs ?? 0,
      onRemoved: (kind) => {
        for (const stores of this.#allStores()) stores.remove(kind);
      },
    });
  }
}

/** The deprecation warning of this version for the kind in the path. */
function deprecationOf(route: Route, gitVersion: string): string | undefined {
  const deprecation = route.type === "resource" ? route.kind.deprecation : undefined;
  if (deprecation === undefined) return undefined;
  const minor = Number(/^v1\.(\d+)/.exec(gitVersion)?.[1] ?? 0);
  return minor >= deprecation.sinceMinor ? deprecation.warning : undefined;
}

function urlOf({ host, tls }: ListenOptions, port: number): string {
  const scheme = tls === undefined ? "http" : "https";
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function subjectOf(route: Route, user: User, userAgent: string): FaultSubject {
  const isResource = route.type === "resource";
  return {
    user: user.name,
    userAgent,
    verb: isResource ? route.verb : undefined,
    resource: isResource ? route.kind.resource : undefined,
  };
}
