// Impersonation, priority and fairness, and authorization, in this order, for servers that control
// access. A refused client does not learn which objects exist.
import type { Headers, IncomingRequest } from "../../environment/network.ts";
import type { AccessControl } from "../access/access-control.ts";
import { type Access, type Attributes, attributesOf } from "../access/attributes.ts";
import type { ApiError } from "../api-error.ts";
import type { FlowControl } from "../flow/flow-control.ts";
import type { User } from "./authentication.ts";
import { isLongRunning, type RequestRecord } from "./request-record.ts";
import type { Route } from "./route.ts";

export interface RequestGateOptions {
  readonly access: AccessControl;
  /** Undefined where requests are not bounded. */
  readonly flow: FlowControl | undefined;
}

export interface GatedRequest {
  readonly request: IncomingRequest;
  readonly record: RequestRecord;
  /** An error is sent only to clients that are authorized for the path. */
  readonly route: Route | ApiError;
  /** For the answer, also if it is an error. */
  addHeaders(headers: Headers): void;
}

export interface Passage {
  readonly user: User;
  /** Idempotent. */
  readonly release: () => void;
}

/** Keeps browsers from reading a name in the refusal as HTML. */
const refusalHeaders: Headers = { "x-content-type-options": "nosniff" };

export class RequestGate {
  readonly #access: AccessControl;
  readonly #flow: FlowControl | undefined;

  constructor({ access, flow }: RequestGateOptions) {
    this.#access = access;
    this.#flow = flow;
  }

  /** Only authentication is checked. */
  get isOpen(): boolean {
    return this.#flow === undefined && !this.#access.isGuarded;
  }

  /** Notes the id and the attributes of a request before it is authenticated. */
  receive({ request, record, addHeaders }: Omit<GatedRequest, "route">): void {
    if (this.isOpen) return;
    this.#describe(record, request);
    addHeaders({ "audit-id": record.auditId });
  }

  /** Throws 403 and 429. The passage is released when the request is over. */
  async pass(gated: GatedRequest, requestor: User): Promise<Passage> {
    const { request, record, route } = gated;
    const attributes = record.attributes ?? this.#describe(record, request);
    const user = this.#actingUser(gated, requestor, attributes);
    const isWatch = attributes.verb === "watch";
    // A log stream may run for any time, so it holds no seat.
    const isExempt = !isWatch && "type" in route && isLongRunning(route);
    const release = isExempt ? noSeat : await this.#enter(gated, { user, attributes });
    try {
      this.#access.authorize(user, attributes, record.notes);
    } catch (error) {
      gated.addHeaders(refusalHeaders);
      release();
      throw error;
    }
    return { user, release };
  }

  #describe(record: RequestRecord, { method, target }: IncomingRequest): Attributes {
    const attributes = attributesOf(method, target);
    record.asks(attributes);
    return attributes;
  }

  async #enter(gated: GatedRequest, access: Access): Promise<() => void> {
    if (this.#flow === undefined) return noSeat;
    const flow = this.#flow.classify(access);
    gated.addHeaders(flow.headers);
    const isWatch = access.attributes.verb === "watch";
    return this.#flow.enter(flow, { request: gated.request, isWatch });
  }

  #actingUser(gated: GatedRequest, requestor: User, attributes: Attributes): User {
    try {
      const user = this.#access.actingUser(requestor, gated.request.headers, attributes);
      if (user !== requestor) gated.record.impersonates(user);
      return user;
    } catch (error) {
      gated.addHeaders(refusalHeaders);
      throw error;
    }
  }
}

function noSeat(): void {
  // The request holds no seat.
}
