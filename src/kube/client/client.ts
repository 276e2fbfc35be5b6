// The interface to a Kubernetes API server: one exchange, or one stream. `http-client.ts`
// implements it over the environment's network; `rate-limited-client.ts` wraps any client with a
// token bucket.
import type { Headers, IncomingResponse } from "../../environment/network.ts";
import type { Doubt } from "./server-list.ts";

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";

export interface KubeRequest {
  /** Only for metrics and the rate limiter (which lets `watch` pass); the method says what is done. */
  readonly verb: Verb;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path with query: `/api/v1/pods?limit=500`. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** `application/json` unless given (patches name their kind here). */
  readonly contentType?: string;
  readonly accept?: string;
  /**
   * Whole exchange for `request`, until the headers arrive for `stream`; fails with
   * `DeadlineExceededError`. The time starts before the connection is made.
   */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

export interface KubeResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  /** The server that answered, `host:port`; a client may not know it. */
  readonly peer?: string;
}

export interface KubeClient {
  /** Reads the whole body. Throws `StatusError` for any status of 300 or more, else `NetworkError`. */
  request(request: KubeRequest): Promise<KubeResponse>;
  /** Resolves when the headers are there; the caller reads the body. Throws as `request` does. */
  stream(request: KubeRequest): Promise<IncomingResponse>;
  /** These servers are listed now, `host:port` each; a client that can will use them. */
  learnServers?(addresses: readonly string[]): void;
  /** A watch or list of this server, `host:port`, is doubted; a client that can will use another. */
  doubtServer?(address: string, why: Doubt): void;
}

export function parseJson(response: KubeResponse): unknown {
  return JSON.parse(response.body.toString("utf8"));
}

/** The API server answered, and the answer is a refusal. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  /** HTTP status. */
  readonly code: number;
  /** Kubernetes' machine-readable reason: `NotFound`, `Conflict`, `Expired`, … or "". */
  readonly reason: string;
  /** From `Retry-After` or `details.retryAfterSeconds`. */
  readonly retryAfterMs: number | undefined;
  /** `details.causes[].reason`, for example `ResourceVersionTooLarge`. */
  readonly causes: readonly string[];

  constructor(fields: {
    code: number;
    reason: string;
    message: string;
    retryAfterMs?: number | undefined;
    causes?: readonly string[];
  }) {
    super(fields.message);
    this.code = fields.code;
    this.reason = fields.reason;
    this.retryAfterMs = fields.retryAfterMs;
    this.causes = fields.causes ?? [];
  }
}

/** The deadline of the request passed before the answer was there. */
export class DeadlineExceededError extends Error {
  override readonly name = "DeadlineExceededError";
  readonly code = "DEADLINE";
}
