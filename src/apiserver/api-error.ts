// A refusal of the API server: a Kubernetes `Status`. Every problem with a request is thrown as an
// `ApiError` and becomes exactly one answer.

export interface StatusCause {
  /** `FieldValueInvalid`, `FieldValueRequired`, `ResourceVersionTooLarge`, … */
  readonly reason: string;
  readonly message: string;
  /** Path of the offending field: `spec.ports[0].port`. */
  readonly field?: string;
}

interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** The resource (plural) or the kind, as Kubernetes does in that place. */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status. */
  readonly code: number;
  /** `NotFound`, `AlreadyExists`, `Conflict`, `Invalid`, `BadRequest`, `Expired`, … */
  readonly reason: string;
  readonly details: StatusDetails | undefined;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  /** The body of the answer, also used as the object of a watch's ERROR event. */
  toStatus(): object {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: this.message,
      ...(this.reason === "" ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

/**
 * The refusal of an overloaded server. The real one sends it as plain text, before reading
 * anything.
 */
export class OverloadError extends ApiError {
  /** The body of the answer. */
  readonly text = "Too many requests, please try again later.\n";

  constructor(retryAfterSeconds: number) {
    super(429, "TooManyRequests", "Too many requests, please try again later.", {
      retryAfterSeconds,
    });
  }
}
