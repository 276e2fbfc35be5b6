// The states of a reflector and every way from one to the next, as pure functions. Doing the work of
// a state is `reflector.ts`; how long to wait is a policy handed in.
//
//   empty → listing → watching ⇄ waiting → stopped
//             ↑___________|________|
import { NetworkError } from "../../environment/network.ts";
import { StatusError } from "../client/client.ts";
import { DoubtedListError, lookAgainMs } from "./reflector-removals.ts";
import { StalledListError, type WatchStream } from "./reflector-stream.ts";
import { WatchDecodeError } from "./watch-decoder.ts";

/** Why everything is listed again; `initial` is the first time. */
export type ListReason =
  | "initial"
  /** The server no longer has the history after our version. */
  | "expired"
  /** The server's cache does not reach what a quorum read shows. */
  | "lagging"
  /** Two streams in a row sent nothing at all. */
  | "silent"
  /** A quorum read showed an older version than the watch had: a restored backup. */
  | "rewound"
  /** A line of the watch could not be read, so a change may have been missed. */
  | "undecodable"
  /** The server answers every watch with an error, or breaks it off at once. */
  | "failing";

/**
 * How a list is asked for, from the gentlest way to the surest. A `stream` comes as the first part of
 * a watch and needs all of the server's watch cache. `pages` need a cache that keeps up, or history,
 * from the second page on. The `whole` in one answer needs neither.
 */
export type ListWay = "stream" | "pages" | "whole";

export interface Listing {
  readonly name: "listing";
  readonly reason: ListReason;
  readonly way: ListWay;
  /** Take any state at least as new as this version; undefined asks for the newest, by quorum. */
  readonly notOlderThan: string | undefined;
}

export interface Watching {
  readonly name: "watching";
  readonly resourceVersion: string;
  /** Whether a stream has lasted since the last list: then history has been there once. */
  readonly settled: boolean;
  /** Streams in a row that the server ended early or with an error. */
  readonly failures: number;
  /** The open stream whose first part was the list. */
  readonly stream: WatchStream | undefined;
}

export interface Waiting {
  readonly name: "waiting";
  readonly delayMs: number;
  readonly because: Condition;
  readonly next: Listing | Watching;
}

export type ReflectorState =
  | { readonly name: "empty" }
  | Listing
  | Watching
  | Waiting
  | { readonly name: "stopped" };

const notAccepted = ": the API server does not accept these credentials; they may have expired";

/** The state of the source for people. `ok` needs no attention. */
export interface Condition {
  readonly type:
    | "ok"
    | "retrying"
    | "throttled"
    | "refused"
    /** A list lacks most of what is known, so it is not believed yet. */
    | "doubted";
  readonly message: string;
}

export type WatchEnd =
  | { readonly type: "closed" }
  | { readonly type: "failed"; readonly error: unknown }
  /** We ended it: it was overdue, or the guard wants a new stream or a list. */
  | { readonly type: "cut"; readonly relist: ListReason | undefined };

/** How long to wait; the only part of the way between states that chance and time have a say in. */
export interface WaitPolicy {
  /** One more failure in a row. */
  backoffMs(): number;
  /** One more refusal in a row. */
  refusal(): Refusal;
}

export interface Refusal {
  readonly delayMs: number;
  /** It may pass by itself; otherwise it is by rules that only a person can change. */
  readonly mayPass: boolean;
}

/** A stream that lives shorter than this has failed, however politely it was closed. */
export const shortStreamMs = 1_000;
/** The server asks to be asked again after this time when its cache is not there yet. */
export const versionTooLargeRetryMs = 1_000;
/** The longest `Retry-After` that is believed: a source must not go blind on one answer. */
export const maxRetryAfterMs = 300_000;
/** Streams the server may fail in a row before the version itself is doubted. */
export const failuresBeforeRelist = 5;

export function listing(
  reason: ListReason,
  options: { readonly notOlderThan?: string; readonly way?: ListWay } = {},
): Listing {
  const { notOlderThan, way = "stream" } = options;
  return { name: "listing", reason, way, notOlderThan };
}

export function watchingAfterList(resourceVersion: string, stream?: WatchStream): Watching {
  return { name: "watching", resourceVersion, settled: false, failures: 0, stream };
}

export function afterListFailure(
  state: Listing,
  error: unknown,
  policy: WaitPolicy,
): ReflectorState {
  const surer: Listing = { ...state, way: surerWay(state.way) };
  const newest: Listing = { ...state, notOlderThan: undefined };
  const isNewest = state.notOlderThan === undefined;
  switch (classify(error)) {
    case "expired":
      return isNewest ? wait(policy.backoffMs(), error, surer) : newest;
    case "version-too-large":
      return wait(versionTooLargeRetryMs, error, isNewest ? surer : newest);
    case "stalled":
    case "undecodable":
    case "failed":
      return wait(policy.backoffMs(), error, state.way === "stream" ? surer : state);
    case "doubted": {
      const next: Listing = { ...newest, way: "whole" };
      return { name: "waiting", delayMs: lookAgainMs, because: condition("doubted", error), next };
    }
    default:
      return waitAsRequested(error, policy, state);
  }
}

/** `resourceVersion` is what the watch had reached, `lastedMs` how long the stream was open. */
export function afterWatchEnd(
  state: Watching,
  end: WatchEnd,
  reached: { readonly resourceVersion: string; readonly lastedMs: number },
  policy: WaitPolicy,
): ReflectorState {
  const lasted = reached.lastedMs >= shortStreamMs;
  const again: Watching = {
    name: "watching",
    resourceVersion: reached.resourceVersion,
    settled: state.settled || lasted,
    failures: lasted ? 0 : state.failures + 1,
    stream: undefined,
  };
  switch (end.type) {
    case "cut":
      return end.relist === undefined
        ? { ...again, failures: 0 }
        : listing(end.relist, { way: "pages" });
    case "closed":
      return lasted
        ? again
        : afterWatchFailure(again, new Error("the watch was closed at once"), policy);
    case "failed":
      return afterWatchFailure(again, end.error, policy);
  }
}

function afterWatchFailure(again: Watching, error: unknown, policy: WaitPolicy): ReflectorState {
  switch (classify(error)) {
    case "expired":
      // A server that expires what it has just listed would make us list in a tight loop.
      return again.settled
        ? listing("expired", { notOlderThan: again.resourceVersion })
        : wait(policy.backoffMs(), error, listing("expired"));
    case "version-too-large":
      return wait(versionTooLargeRetryMs, error, again);
    case "undecodable":
      return wait(policy.backoffMs(), error, listing("undecodable"));
    case "failed":
      return again.failures >= failuresBeforeRelist
        ? wait(policy.backoffMs(), error, listing("failing", { way: "pages" }))
        : wait(policy.backoffMs(), error, again);
    default:
      return waitAsRequested(error, policy, again);
  }
}

function surerWay(way: ListWay): ListWay {
  return way === "stream" ? "pages" : "whole";
}

/** Throttled and refused requests, and lost connections, are tried again as they were. */
function waitAsRequested(error: unknown, policy: WaitPolicy, next: Listing | Watching): Waiting {
  switch (classify(error)) {
    case "throttled": {
      const retryAfterMs = error instanceof StatusError ? error.retryAfterMs : undefined;
      const delayMs =
        retryAfterMs === undefined ? policy.backoffMs() : Math.min(retryAfterMs, maxRetryAfterMs);
      return { name: "waiting", delayMs, because: condition("throttled", error), next };
    }
    case "refused":
      return waitRefused(error, policy, next);
    default:
      return wait(policy.backoffMs(), error, next);
  }
}

/**
 * A resource that was allowed until now is not reported as refused while the refusal may be
 * temporary.
 */
function waitRefused(error: unknown, policy: WaitPolicy, next: Listing | Watching): Waiting {
  const { delayMs, mayPass } = policy.refusal();
  const wasAllowed = next.name === "watching" ? next.settled : next.reason !== "initial";
  if (mayPass && wasAllowed) return wait(delayMs, error, next);
  return { name: "waiting", delayMs, because: condition("refused", error), next };
}

type Failure =
  | "expired"
  | "version-too-large"
  | "throttled"
  | "refused"
  | "undecodable"
  /** A streamed list stopped half-way. */
  | "stalled"
  /** The server failed, or does not know what it wants, or breaks off what it has accepted. */
  | "failed"
  /** A list lacks most of what is known. */
  | "doubted"
  /** The server was not reached. */
  | "unreachable";

function classify(error: unknown): Failure {
  if (error instanceof WatchDecodeError) {
    return "undecodable";
  }
  if (error instanceof StalledListError) {
    return "stalled";
  }
  if (error instanceof DoubtedListError) {
    return "doubted";
  }
  if (error instanceof NetworkError) {
    return error.code === "RESET" ? "failed" : "unreachable";
  }
  if (!(error instanceof StatusError)) {
    return "failed";
  }
  if (error.code === 410 || error.reason === "Expired" || error.reason === "Gone") {
    return "expired";
  }
  if (error.causes.includes("ResourceVersionTooLarge")) {
    return "version-too-large";
  }
  if (error.code === 429) {
    return "throttled";
  }
  return error.code === 403 || error.code === 404 ? "refused" : "failed";
}

function wait(delayMs: number, error: unknown, next: Listing | Watching): Waiting {
  return { name: "waiting", delayMs, because: condition("retrying", error), next };
}

function condition(type: Condition["type"], error: unknown): Condition {
  const message = error instanceof Error ? error.message : String(error);
  // The server's one word leaves open what to do.
  const advice = error instanceof StatusError && error.code === 401 ? notAccepted : "";
  return { type, message: `${message}${advice}` };
}
