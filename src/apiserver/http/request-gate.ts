// What a request has to pass before it is looked at, where access is controlled: as whom it acts, a
// seat among those at work, and whether it is allowed. Who is refused learns nothing of what there is.
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
  /** The error is told only to those who may ask. */
  readonly route: Route | ApiError;
  /** For the answer, whatever it will be. */
  addHeaders(headers: Headers): void;
}

export interface Passage {
  readonly user: User;
  /** Idempotent. */
  readonly release: () => void;
}

/** So that no browser takes a name in the refusal for a page. */
const refusalHeaders: Headers = { "x-content-type-options": "nosniff" };

export class RequestGate {
  readonly #access: AccessControl;
  readonly #flow: FlowControl | undefined;

  constructor({ access, flow }: RequestGateOptions) {
    this.#access = access;
    this.#flow = flow;
  }

  /** Nothing is checked but who asks. */
  get isOpen(): boolean {
    return this.#flow === undefined && !this.#access.isGuarded;
  }

  /** What is known of a request before anybody is known: its id, and what it asks for. */
  receive({ request, record, addHeaders }: Omit<GatedRequest, "route">): void {
    if (this.isOpen) return;
    this.#describe(record, request);
    addHeaders({ "audit-id": record.auditId });
  }

  /** Throws 403 and 429. What it gives is released when the request is over. */
  async pass(gated: GatedRequest, requestor: User): Promise<Passage> {
    const { request, record, route } = gated;
    const attributes = record.attributes ?? this.#describe(record, request);
    const user = this.#actingUser(gated, requestor, attributes);
    const isWatch = attributes.verb === "watch";
    // A log goes on for as long as its reader likes, and holds no seat.
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
  // There was none to leave.
}
