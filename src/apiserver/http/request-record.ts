// One request from its arrival to its end: what is known of it grows as it is understood, and the
// observers are told at each stage. `finish` is called once and for all.
import { type Clock, elapsedMs, type MonotonicMs, type WallMs } from "../../environment/clock.ts";
import type { IncomingRequest } from "../../environment/network.ts";
import type { Attributes } from "../access/attributes.ts";
import type { ApiError } from "../api-error.ts";
import type { User } from "./authentication.ts";
import type { Route } from "./route.ts";
import type { RequestNotes, RequestObserver, ServedRequest } from "./served-request.ts";

/** What real servers count when the client left before the answer. */
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

  /** Made only if somebody asks. */
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

  /** Called once, when it is known what is asked for. */
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
