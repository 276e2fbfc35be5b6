// One request as those see it who keep a record of it: metrics, the audit log, the server's own log.
// They are told and cannot change anything.
import type { WallMs } from "../../environment/clock.ts";
import type { IncomingRequest } from "../../environment/network.ts";
import type { Attributes } from "../access/attributes.ts";
import type { Decision } from "../access/authorizer.ts";
import type { ApiError } from "../api-error.ts";
import type { JsonObject } from "../kinds/fields.ts";
import type { User } from "./authentication.ts";
import type { Route } from "./route.ts";

export interface ServedRequest {
  readonly request: IncomingRequest;
  readonly receivedAt: WallMs;
  /** By which all records of it can be told to be of one. */
  readonly auditId: string;
  /** Undefined until it is known who asks. */
  readonly user: User | undefined;
  /** As whom it is handled, when that is somebody else. */
  readonly impersonated: User | undefined;
  /** What is asked for, where access is controlled: known also of resources that there are not. */
  readonly attributes: Attributes | undefined;
  /** Undefined until it is known what is asked for. */
  readonly route: Route | undefined;
  readonly notes: RequestNotes;
}

/** What comes to light while the request is handled. */
export interface RequestNotes {
  /** What the client sent, for those who write. */
  object?: JsonObject;
  /** How many the answer has, for a list. */
  items?: number;
  /** Whether it was allowed and why, where that was asked. */
  decision?: Decision;
  /** Why it is refused: known before the refusal is sent. */
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
  /** It is known what is asked for. */
  began?(served: ServedRequest): void;
  /** A long-running answer has begun. */
  streaming?(served: ServedRequest, code: number): void;
  finished(served: ServedRequest, outcome: RequestOutcome): void;
}
