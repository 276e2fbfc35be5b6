// One Kubernetes API server of the lab. Several may share one storage, each with its own watch
// caches and its own faults. The same code serves real HTTPS and the simulated network.
import { Registry } from "prom-client";
import type { Clock } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import type {
  BodyWriter,
  ExchangeHandler,
  Listener,
  ListenOptions,
  Network,
  ServerExchange,
} from "../../environment/network.ts";
import type { Random } from "../../environment/random.ts";
import type { Timers } from "../../environment/timers.ts";
import { noPodLogs, type PodLogs } from "../pod-logs.ts";
import { ApiError } from "./api-error.ts";
import { auditIds } from "./audit/audit-ids.ts";
import { ApiServerFaults, ConnectionResetFault, type FaultSubject } from "./faults.ts";
import { type Answer, errorAnswer, internalError, send } from "./http/answer.ts";
import { type Authentication, authenticate, type User } from "./http/authentication.ts";
import { otherAnswer, publicAnswer } from "./http/other-paths.ts";
import { requestMetrics } from "./http/request-metrics.ts";
import { type RequestMetricsForm, requestMetrics133 } from "./http/request-metrics-forms.ts";
import { clientGoneCode, type RequestEnd, RequestRecord } from "./http/request-record.ts";
import { ResourceHandler } from "./http/resource-handler.ts";
import { parseRoute, type Route } from "./http/route.ts";
import type { RequestObserver } from "./http/served-request.ts";
import { ensureInitialObjects } from "./initial-objects.ts";
import { allKinds } from "./kinds/all-kinds.ts";
import type { ResourceKind } from "./kinds/resource-kind.ts";
import type { ResourceNames } from "./listwatch/resource-names.ts";
import { ResourceStore } from "./listwatch/resource-store.ts";
import { preloadObjects } from "./preloaded-objects.ts";
import type { Storage } from "./storage/storage.ts";
import type { Backend } from "./verbs/backend.ts";
import { ServiceAllocator } from "./verbs/service-allocator.ts";

export interface ApiServerOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly network: Network;
  readonly log: Log;
  readonly storage: Storage;
  /** In logs, to tell the servers of one cluster apart. */
  readonly name: string;
  /** What /version says: `v1.33.1`. */
  readonly gitVersion: string;
  readonly authentication: Authentication;
  /** What it serves; all there are unless given: an old version has fewer. */
  readonly kinds?: readonly ResourceKind[];
  readonly podLogs?: PodLogs;
  /** What the storage holds before it listens, beside what every cluster holds. */
  readonly objects?: Iterable<object>;
  /** Two servers in one process need two registries, as two real servers have. */
  readonly metrics?: Registry;
  /** How its version names its request metrics; as today unless given. */
  readonly requestMetrics?: RequestMetricsForm;
  /** Others who keep a record of each request: an audit log, the server's own log. */
  readonly observers?: readonly RequestObserver[];
}

export class ApiServer {
  /** May be changed at any time. */
  readonly faults: ApiServerFaults;
  readonly metrics: Registry;
  readonly #options: ApiServerOptions;
  readonly #kinds: readonly ResourceKind[];
  readonly #log: Log;
  readonly #observers: readonly RequestObserver[];
  readonly #nextAuditId: () => string;
  readonly #stores: ReadonlyMap<ResourceKind, ResourceStore>;
  readonly #backend: Backend;
  readonly #resources: ResourceHandler;
  #listener: Listener | undefined;

  constructor(options: ApiServerOptions) {
    const { clock, random, storage } = options;
    this.#options = options;
    this.#kinds = options.kinds ?? allKinds;
    this.#log = options.log.child({ apiserver: options.name });
    this.faults = new ApiServerFaults(options);
    this.metrics = options.metrics ?? new Registry();
    const form = options.requestMetrics ?? requestMetrics133;
    const meter = requestMetrics({ registry: this.metrics, form, clock });
    this.#observers = [meter, ...(options.observers ?? [])];
    this.#nextAuditId = auditIds(options.name);
    this.#stores = this.#makeStores();
    this.#backend = {
      clock,
      random,
      allocator: new ServiceAllocator({ storage, random }),
      store: (kind) => this.#store(kind),
    };
    const podLogs = options.podLogs ?? noPodLogs;
    this.#resources = new ResourceHandler({ backend: this.#backend, podLogs });
  }

  /** Stores what is to be there from the first moment, then listens. */
  async start(listen: ListenOptions): Promise<Listener> {
    if (this.#listener !== undefined) {
      throw new Error(`the API server ${this.#options.name} has been started before`);
    }
    await ensureInitialObjects(this.#backend);
    await preloadObjects(this.#backend, this.#kinds, this.#options.objects ?? []);
    this.#listener = await this.#options.network.listen(listen, this.handle);
    return this.#listener;
  }

  /** Ends every watch and stops listening. Idempotent. */
  async stop(): Promise<void> {
    for (const store of this.#stores.values()) {
      store.stop();
    }
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
      end = this.#refuse(tracked, error);
    } finally {
      record.finish(end);
    }
  };

  async #serve(exchange: TrackedExchange, record: RequestRecord): Promise<Answer | undefined> {
    const { method, target, headers } = exchange.request;
    const open = publicAnswer(target.split("?", 1)[0] ?? "", this.#options.gitVersion);
    if (open !== undefined) {
      return open;
    }
    const user = authenticate(this.#options.authentication, headers);
    record.authenticated(user);
    const route = parseRoute(method, target, this.#kinds);
    record.begin(route);
    const subject = subjectOf(route, user, headers["user-agent"] ?? "");
    await this.faults.pass(subject, exchange.request);
    return route.type === "resource"
      ? this.#resources.handle({ route, exchange, clientName: user.name, notes: record.notes })
      : otherAnswer(method, route, this.metrics, this.#kinds);
  }

  /** Answers with what went wrong, as far as that is still possible. */
  #refuse(exchange: TrackedExchange, error: unknown): RequestEnd {
    const { request } = exchange;
    const gone: RequestEnd = { code: clientGoneCode, contentType: "" };
    if (error instanceof ConnectionResetFault) {
      exchange.abort();
      return gone;
    }
    if (request.closed.aborted) {
      return gone;
    }
    const isExpected = error instanceof ApiError;
    if (!isExpected) {
      const { method, target } = request;
      this.#log.error("A request failed by a mistake of the server.", { method, target, error });
    }
    const failure = isExpected ? error : internalError(error);
    const answer = errorAnswer(failure);
    if (exchange.responded) {
      exchange.abort();
    } else {
      send(exchange, answer);
    }
    return { code: answer.status, contentType: answer.contentType, failure };
  }

  #makeStores(): ReadonlyMap<ResourceKind, ResourceStore> {
    const { clock, timers, random, storage } = this.#options;
    const shared = { clock, timers, random, storage, log: this.#log, metrics: this.metrics };
    const faults = this.faults.cache;
    return new Map(
      this.#kinds.map((kind) => [kind, new ResourceStore({ ...shared, ...namesOf(kind), faults })]),
    );
  }

  #store(kind: ResourceKind): ResourceStore {
    const store = this.#stores.get(kind);
    if (store === undefined) {
      throw new Error(`this server has no kind ${kind.kind}`);
    }
    return store;
  }
}

/** Knows whether an answer has begun, because after that only the connection can be broken. */
class TrackedExchange implements ServerExchange {
  readonly request: ServerExchange["request"];
  readonly #exchange: ServerExchange;
  readonly #onResponding: (status: number) => void;
  #responded = false;

  constructor(exchange: ServerExchange, onResponding: (status: number) => void) {
    this.#exchange = exchange;
    this.#onResponding = onResponding;
    this.request = exchange.request;
  }

  get responded(): boolean {
    return this.#responded;
  }

  respond(...args: Parameters<ServerExchange["respond"]>): BodyWriter {
    this.#responded = true;
    this.#onResponding(args[0]);
    return this.#exchange.respond(...args);
  }

  abort(): void {
    this.#exchange.abort();
  }
}

function namesOf({ group, version, resource, kind, prefix }: ResourceKind): ResourceNames {
  return { group, version, resource, kind, prefix };
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
