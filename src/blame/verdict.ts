// The verdict on a failed request: the cause, its confidence, and the evidence. Plain data;
// `verdict-text.ts` makes sentences of it.
import type { Hop } from "../timeline/witness.ts";
import type { Moment } from "./pod-life.ts";
import type { Length, Span } from "./span.ts";

/** In the order of the output. */
export const causes = [
  /** The pod had left, and its service still listed it. */
  "published late",
  /** The service had let it go, and the copy in the access cluster still listed it. */
  "synced late",
  /** No list had it any more, and the proxy still used it. */
  "routed late",
  /** The pod was dead, and the API did not show it yet. */
  "shown late",
  /** The pod had left; the late hop is unknown. */
  "stale",
  /** There were ready pods, and the proxy did not know of them yet. */
  "joined late",
  /** No pod of the service could take requests. */
  "no endpoints",
  /** The pod left while it had the request. */
  "left meanwhile",
  /** The pod was there and did not take requests yet. */
  "not yet listening",
  /** The pod was well and did not answer in time. */
  "timeout",
  /** The pod was well, and failed or refused. */
  "application",
  /** It was sent to something that is no pod. */
  "outside",
  "unknown",
] as const;

export type Cause = (typeof causes)[number];

/** Causes by which a request went to an endpoint that should not have got it any more. */
export const staleCauses: ReadonlySet<Cause> = new Set<Cause>([
  "published late",
  "synced late",
  "routed late",
  "shown late",
  "stale",
]);

export type Confidence = "certain" | "likely" | "cannot tell";

export interface BlamedPod {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly node: string;
}

/** The part of the time between change and request that one hop took. */
export interface HopDelay {
  readonly hop: Hop;
  /** The cluster; undefined at `routed`. */
  readonly where: string | undefined;
  /** Until the hop showed the change, or until the request where it had not by then. */
  readonly took: Length;
  /** The hop had not shown the change when the request was sent. */
  readonly isPending: boolean;
  /** Until the hop did show it, after the change; undefined where it is not known to have. */
  readonly shownAfter: Length | undefined;
}

export interface TryVerdict {
  readonly cause: Cause;
  readonly confidence: Confidence;
  readonly address: string;
  readonly port: number;
  readonly status: number | undefined;
  readonly durationMs: number | undefined;
  /** Whether the status is the endpoint's own; undefined if the log does not show it. */
  readonly answered: boolean | undefined;
  readonly sent: Span;
  /** The pod that had the address. */
  readonly pod: BlamedPod | undefined;
  readonly service: string | undefined;
  /** From when on it should not have got requests any more. */
  readonly left: Moment | undefined;
  /** When the pod stopped listening, if that was certainly before the request. */
  readonly dead: Moment | undefined;
  /** How long before the request that was. */
  readonly late: Length | undefined;
  /** In the order of the hops. */
  readonly hops: readonly HopDelay[];
  /** Other hops that may have been the late one: the instants are not known well enough. */
  readonly alternatives: readonly Cause[];
  /** Of another pod that has the address by now. */
  readonly successor: BlamedPod | undefined;
  /** Of the pod that had it until lately, where that one may have been meant. */
  readonly predecessor: BlamedPod | undefined;
  /** Others that may have been meant, and of which the same is true. */
  readonly rivals: readonly BlamedPod[];
  /** Further evidence, or the reason for an unknown cause; a part of a sentence. */
  readonly because: string;
}

/** All of it but what was concluded. */
export type TryBase = Omit<TryVerdict, "cause" | "confidence" | "because">;

export interface RequestVerdict {
  readonly file: string;
  readonly line: number;
  readonly endedMs: number;
  readonly status: number;
  readonly method: string | undefined;
  readonly host: string | undefined;
  readonly target: string | undefined;
  readonly service: string | undefined;
  readonly cause: Cause;
  readonly confidence: Confidence;
  /** How long after a change that it should have known the proxy sent or refused it. */
  readonly late: Length | undefined;
  readonly because: string;
  /** Empty when no endpoint was tried, or the log does not show it. */
  readonly tries: readonly TryVerdict[];
  /** Tries between the last two of `tries` that were not judged, because there were so many. */
  readonly triesLeftOut: number;
  readonly areTriesKnown: boolean;
}
