// One request of a proxy's access log, in any format: the request, its result, and the endpoints
// that were tried for it, in order.
import type { WallMs } from "../environment/clock.ts";

export interface AccessLogEntry {
  /** Counts from 1 in the file or stream. */
  readonly line: number;
  /** When it was logged: proxies write a request down when it is over. */
  readonly endedMs: WallMs;
  /** It ended in the span of this length that begins at `endedMs`: 1, or 1000 for whole seconds. */
  readonly resolutionMs: number;
  /** The log wrote a time of day without its zone, and it was taken for UTC. */
  readonly isZoneGuessed?: boolean | undefined;
  /** From the first byte of the request to the last of the answer. */
  readonly durationMs: number | undefined;
  /** The status that the client received. */
  readonly status: number;
  readonly method: string | undefined;
  readonly host: string | undefined;
  /** Path and query. */
  readonly target: string | undefined;
  /** `namespace/name`, where the log says. */
  readonly service: string | undefined;
  /** The proxy's own name of what it routed to, `namespace-name-port`, where the log has one. */
  readonly backend?: string | undefined;
  /** In order; empty when no endpoint was tried, or when `triesUnknown` says why that is not known. */
  readonly tries: readonly LoggedTry[];
  /** Of more tries than are kept: those before the last one of `tries`. */
  readonly triesLeftOut?: TriesLeftOut | undefined;
  /** Why the log does not show whether an endpoint was tried; a part of a sentence. */
  readonly triesUnknown?: string | undefined;
}

/** Tries that were counted and not kept. */
export interface TriesLeftOut {
  readonly count: number;
  /** All of them together, as far as the log says. */
  readonly durationMs: number;
}

/** One endpoint that was tried. */
export interface LoggedTry {
  readonly address: string;
  readonly port: number;
  /** The endpoint's status; without an answer, the proxy's: 502, 504. */
  readonly status: number | undefined;
  readonly durationMs: number | undefined;
  /** False when the status is the proxy's word and the endpoint sent none; absent if not known. */
  readonly answered?: boolean | undefined;
  /** After an internal redirect, such as to a page for errors: another service than the request's. */
  readonly isRedirected?: boolean | undefined;
}
