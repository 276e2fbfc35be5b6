// One request from its arrival to its end. Its fields are filled in as they become known, and
// observers are called at each stage. `finish` is called exactly once.

import { createHash } from "node:crypto";
import { type Clock, elapsedMs, type MonotonicMs, type WallMs } from "../../environment/clock.ts";
import type {
  BodyWriter,
  Headers,
  IncomingRequest,
  ServerExchange,
} from "../../environment/network.ts";
import type { Attributes } from "../access/attributes.ts";
import type { Decision } from "../access/authorizer.ts";
import type { ApiError } from "../api-error.ts";
import type { JsonObject } from "../kinds/fields.ts";
import type { User } from "./authentication.ts";
import type { Route } from "./route.ts";

/** Counted by real servers when the client left before the answer. */
export const clientGoneCode = 0;

export interface RequestEnd {
  readonly code: number;
  readonly contentType: string;
  readonly failure?: ApiError;
}

export class RequestRecord implements ServedRequest {
  readonly request: IncomingRequest;
  readonly receivedAt: WallMs;
  readonly notes: RequestNotes = {};
  readonly #observers: readonly RequestObserver[];
  readonly #clock: Clock;
  readonly #nextAuditId: () => string;
  readonly #began: MonotonicMs;
  #auditId: string | undefined;
  #user: User | undefined;
  #impersonated: User | undefined;
  #attributes: Attributes | undefined;
  #route: Route | undefined;

  constructor(options: {
    readonly request: IncomingRequest;
    readonly clock: Clock;
    readonly nextAuditId: () => string;
    readonly observers: readonly RequestObserver[];
  }) {
    this.request = options.request;
    this.receivedAt = options.clock.wallMs();
    this.#clock = options.clock;
    this.#nextAuditId = options.nextAuditId;
    this.#observers = options.observers;
    this.#began = options.clock.monotonicMs();
  }

  /** Made at the first use. */
  get auditId(): string {
    this.#auditId ??= this.#nextAuditId();
    return this.#auditId;
  }

  get user(): User | undefined {
    return this.#user;
  }

  get impersonated(): User | undefined {
    return this.#impersonated;
  }

  get attributes(): Attributes | undefined {
    return this.#attributes;
  }

  get route(): Route | undefined {
    return this.#route;
  }

  authenticated(user: User): void {
    this.#user = user;
  }

  impersonates(other: User): void {
    this.#impersonated = other;
  }

  asks(attributes: Attributes): void {
    this.#attributes = attributes;
  }

  /** Called once, when the path is parsed. */
  begin(route: Route): void {
    this.#route = route;
    for (const observer of this.#observers) observer.began?.(this);
  }

  responding(code: number): void {
    if (!isLongRunning(this.#route)) return;
    for (const observer of this.#observers) observer.streaming?.(this, code);
  }

  finish({ code, contentType, failure }: RequestEnd): void {
    const elapsed = elapsedMs(this.#began, this.#clock.monotonicMs());
    const outcome = { code, elapsedMs: elapsed, contentType, failure };
    for (const observer of this.#observers) observer.finished(this, outcome);
  }
}

export function isLongRunning(route: Route | undefined): boolean {
  return route?.type === "resource" && (route.verb === "watch" || route.subresource === "log");
}

/**
 * One request as observers see it: metrics, the audit log, the server's own log. They only read it.
 */
export interface ServedRequest {
  readonly request: IncomingRequest;
  readonly receivedAt: WallMs;
  /** The same in all records of this request. */
  readonly auditId: string;
  /** Undefined until the request is authenticated. */
  readonly user: User | undefined;
  /** The user it acts as, if it impersonates another. */
  readonly impersonated: User | undefined;
  /** For authorization, if access is controlled; also known for resources that do not exist. */
  readonly attributes: Attributes | undefined;
  /** Undefined until the path is parsed. */
  readonly route: Route | undefined;
  readonly notes: RequestNotes;
}

/** Facts noted while the request is handled. */
export interface RequestNotes {
  /** The object that the client sent, for writes. */
  object?: JsonObject;
  /** The number of items in the answer to a list. */
  items?: number;
  /** The decision of authorization, if access is controlled. */
  decision?: Decision;
  /** The refusal, noted before it is sent. */
  failure?: ApiError;
  /** Of a token that was issued. */
  issuedCredentialId?: string;
}

export interface RequestOutcome {
  /** 0 when the client left before the answer. */
  readonly code: number;
  readonly elapsedMs: number;
  readonly contentType: string;
  /** Why it was refused. */
  readonly failure: ApiError | undefined;
}

export interface RequestObserver {
  /** The path is parsed. */
  began?(served: ServedRequest): void;
  /** A long-running answer has begun. */
  streaming?(served: ServedRequest, code: number): void;
  finished(served: ServedRequest, outcome: RequestOutcome): void;
}

/**
 * Knows whether the answer has begun, because after that the server can only abort the connection.
 * Adds the headers that every answer to this request has.
 */
export class TrackedExchange implements ServerExchange {
  readonly request: ServerExchange["request"];
  readonly #exchange: ServerExchange;
  readonly #onResponding: (status: number) => void;
  #headers: Headers | undefined;
  #responded = false;

  constructor(exchange: ServerExchange, onResponding: (status: number) => void) {
    this.#exchange = exchange;
    this.#onResponding = onResponding;
    this.request = exchange.request;
  }

  get responded(): boolean {
    return this.#responded;
  }

  /** For the answer, also if it is an error. */
  addHeaders(headers: Headers): void {
    this.#headers = { ...this.#headers, ...headers };
  }

  respond(status: number, headers?: Headers): BodyWriter {
    this.#responded = true;
    this.#onResponding(status);
    const own = this.#headers;
    return this.#exchange.respond(status, own === undefined ? headers : joined(own, headers));
  }

  abort(): void {
    this.#exchange.abort();
  }
}

/** Warnings of both are kept; for any other header the later value counts. */
function joined(own: Headers, headers: Headers = {}): Headers {
  const [first, second] = [own["warning"], headers["warning"]];
  const warning = first !== undefined && second !== undefined ? `${first}, ${second}` : undefined;
  return { ...own, ...headers, ...(warning === undefined ? {} : { warning }) };
}

/**
 * Makes a new id with each call, in the form of a random UUID, different for all servers. Ids are
 * not drawn at random: only recorded requests have one, and a run must not depend on recording.
 */
export function auditIds(server: string): () => string {
  let requests = 0;
  return () => {
    requests += 1;
    const hex = createHash("sha256").update(`${server} ${requests}`).digest("hex");
    const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`];
    return [...parts, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join("-");
  };
}
