// The history of one pod as a list of moments: it got an address, became ready, was deleted, ended.
// Each moment has the time it happened, as exactly as known, and the time the API showed it.
// Between the two, no client of the API could know of it. Pure: two versions give the moments
// between them.
import type { ContainerFacts, PodFacts } from "./pod-facts.ts";
import { between, exactly, type Span } from "./span.ts";

export type Happening =
  | "appeared"
  | "ready"
  | "unready"
  /** Its deletion was asked for. */
  | "terminating"
  /** A container of it ended, or all of it. */
  | "ended"
  /** A container that had ended runs again. */
  | "started"
  /** The API has it no more. */
  | "deleted"
  /** It has another address since, as after a restart of its node. */
  | "moved"
  /** Its node no longer reported. */
  | "node lost";

export interface Moment {
  readonly what: Happening;
  readonly at: Span;
  /** When the API showed it, by the recorder's clock; without a watch, when it happened. */
  readonly shownMs: number;
  /** Why a container ended, if known: `OOMKilled`; of a node, by which witness but itself. */
  readonly why?: string | undefined;
}

/** How a version of an object came to be known. */
export interface Seen {
  readonly atMs: number;
  /** As it happened; else from a list or a saved file, some time after. */
  readonly isWatched: boolean;
  /** It was not before this, if known. */
  readonly afterMs: number | undefined;
}

/** How the pod treated requests at an instant. */
export type Standing =
  | { readonly type: "serving"; readonly since: Moment }
  /** It was ready once, and from this moment on it was not, or not any more. */
  | { readonly type: "left"; readonly by: Moment }
  | { readonly type: "not yet" };

/** Kubernetes writes most times in whole seconds. */
const clusterResolutionMs = 1_000;

/**
 * How long a node that is marked as lost may have been silent: 50 s of grace (40 s before 1.32), 5
 * s between two checks, 10 s between two renewals of its lease, and as much again for slow updates.
 * The heartbeat in its status is no better source: a healthy node writes it every five minutes.
 */
export const silentMostMs = 120_000;

export function momentsBetween(
  previous: PodFacts | undefined,
  next: PodFacts,
  seen: Seen,
): readonly Moment[] {
  const moments: Moment[] = [];
  const note = (what: Happening, at: Span, why?: string): void => {
    moments.push({ what, at, shownMs: shownMs(at, seen), ...(why !== undefined && { why }) });
  };
  if (next.addresses.length > 0 && (previous?.addresses.length ?? 0) === 0) {
    note("appeared", happened(next.createdMs, seen));
  }
  if (next.isReady && previous?.isReady !== true) {
    note("ready", happened(next.readyChangedMs, seen));
  }
  const ready = previous === undefined ? readyBefore(next) : undefined;
  if (ready !== undefined) note("ready", ready);
  const flap = seen.isWatched ? undefined : flapBetween(previous, next, seen);
  if (flap !== undefined) {
    note("unready", flap);
    note("ready", happened(next.readyChangedMs, seen));
  }
  for (const container of next.containers) {
    const before = previous?.containers.find(({ name }) => name === container.name);
    for (const [what, at] of containerMoments(before, container, seen)) {
      note(what, at, what === "ended" ? container.endedBy : undefined);
    }
  }
  if (next.deletionAskedMs !== undefined && previous?.deletionAskedMs === undefined) {
    note("terminating", happened(next.deletionAskedMs, seen));
  }
  if (!next.isReady && previous?.isReady !== false) {
    const at = happened(next.readyChangedMs, seen);
    if (next.isGivenUp) moments.push(nodeLost(at, previous, seen));
    else note("unready", at);
  }
  const isEndKnown = next.containers.some(({ state }) => state === "terminated");
  if (next.isOver && previous?.isOver !== true && !isEndKnown) {
    note("ended", happened(undefined, seen));
  }
  // Several may come with one version, and have happened in another order.
  return moments.sort((one, other) => one.at.toMs - other.at.toMs);
}

/**
 * The standing of the pod at an instant. `from` takes every moment at its earliest, so the result
 * may hold; `to` takes it at its latest, so the result surely holds.
 */
export function standingAt(
  moments: readonly Moment[],
  instantMs: number,
  bound: "from" | "to",
): Standing {
  const state = { isReady: false, isLeaving: false, hasEnded: false };
  let standing: Standing = { type: "not yet" };
  for (const moment of moments) {
    const momentMs = bound === "from" ? moment.at.fromMs : moment.at.toMs;
    if (momentMs > instantMs) continue;
    apply(state, moment.what);
    const isServing = state.isReady && !state.isLeaving && !state.hasEnded;
    if (isServing && standing.type !== "serving") standing = { type: "serving", since: moment };
    if (!isServing && standing.type === "serving") standing = { type: "left", by: moment };
  }
  return standing;
}

/** The same life to those who send requests from the first address on, until it is dead. */
export function whateverReady(moments: readonly Moment[]): readonly Moment[] {
  const readiness: readonly Happening[] = ["ready", "unready", "terminating"];
  return moments
    .filter(({ what }) => !readiness.includes(what))
    .flatMap((moment) =>
      moment.what === "appeared" ? [moment, { ...moment, what: "ready" }] : [moment],
    );
}

function apply(
  state: { isReady: boolean; isLeaving: boolean; hasEnded: boolean },
  what: Happening,
): void {
  switch (what) {
    case "ready":
      state.isReady = true;
      break;
    case "unready":
    case "node lost":
      state.isReady = false;
      break;
    case "terminating":
    case "deleted":
    case "moved":
      state.isLeaving = true;
      break;
    case "ended":
      state.hasEnded = true;
      break;
    case "started":
      state.hasEnded = false;
      break;
    case "appeared":
      break;
  }
}

/** When it was not ready between two versions that are, and say so since different times. */
function flapBetween(
  previous: PodFacts | undefined,
  next: PodFacts,
  { afterMs = 0 }: Seen,
): Span | undefined {
  const [beforeMs, nowMs] = [previous?.readyChangedMs, next.readyChangedMs];
  if (previous?.isReady !== true || !next.isReady) return undefined;
  if (beforeMs === undefined || nowMs === undefined || nowMs <= beforeMs) return undefined;
  return between(Math.min(Math.max(beforeMs, afterMs), nowMs), nowMs);
}

/**
 * When it became ready that is not any more, before it was first seen; undefined when it never was. Such
 * a pod is not ready since before its containers ran: a condition's time changes with what it says.
 */
function readyBefore({
  isReady,
  readyChangedMs,
  createdMs,
  containers,
}: PodFacts): Span | undefined {
  if (isReady || readyChangedMs === undefined) return undefined;
  const wasReady = containers.some(({ sinceMs, lastEndedMs }) => {
    const ranMs = lastEndedMs ?? sinceMs;
    return ranMs !== undefined && readyChangedMs > ranMs + clusterResolutionMs;
  });
  if (!wasReady) return undefined;
  const ends = containers.flatMap(({ state, sinceMs, lastEndedMs }) =>
    [lastEndedMs, state === "terminated" ? sinceMs : undefined].filter((ms) => ms !== undefined),
  );
  return between(createdMs ?? 0, Math.min(readyChangedMs, ...ends));
}

/** Its node had been silent for a while when it was given up, though not before it became ready. */
function nodeLost(given: Span, previous: PodFacts | undefined, seen: Seen): Moment {
  const readyMs = (previous?.isReady === true && previous.readyChangedMs) || 0;
  const fromMs = Math.min(Math.max(given.fromMs - silentMostMs, readyMs), given.fromMs);
  const at = { fromMs, toMs: given.toMs };
  return { what: "node lost", at, shownMs: shownMs(given, seen), why: "as the pod shows" };
}

function containerMoments(
  before: ContainerFacts | undefined,
  now: ContainerFacts,
  seen: Seen,
): readonly (readonly ["ended" | "started", Span])[] {
  const moments: (readonly ["ended" | "started", Span])[] = [];
  // A restart between two versions shows only in the last state of the container.
  if (now.lastEndedMs !== undefined && now.lastEndedMs !== before?.lastEndedMs) {
    const isKnownEnd = before?.state === "terminated" && before.sinceMs === now.lastEndedMs;
    if (!isKnownEnd) moments.push(["ended", withinSecond(now.lastEndedMs, seen)]);
  }
  if (now.state === "terminated" && before?.state !== "terminated") {
    moments.push(["ended", withinSecond(now.sinceMs, seen)]);
  }
  if (now.state === "running" && (now.lastEndedMs !== undefined || before !== undefined)) {
    const isNew = before?.state !== "running" || before.sinceMs !== now.sinceMs;
    if (isNew) moments.push(["started", happened(now.sinceMs, seen)]);
  }
  return moments;
}

/** The cluster's own times have a resolution of one second; a watch shows the change soon after. */
function happened(saidMs: number | undefined, seen: Seen): Span {
  const { atMs, isWatched, afterMs } = seen;
  if (saidMs !== undefined) {
    return isWatched ? between(Math.min(saidMs, atMs), atMs) : withinSecond(saidMs, seen);
  }
  return isWatched ? exactly(atMs) : between(Math.min(afterMs ?? atMs, atMs), atMs);
}

/** The end of a container is known to the second, however late it is shown. */
function withinSecond(saidMs: number | undefined, seen: Seen): Span {
  if (saidMs === undefined) return happened(undefined, seen);
  const fromMs = Math.min(saidMs, seen.atMs);
  return { fromMs, toMs: Math.max(fromMs, Math.min(saidMs + clusterResolutionMs, seen.atMs)) };
}

/** How late a list or a saved file is says nothing of how late the API was. */
export function shownMs(at: Span, { atMs, isWatched }: Seen): number {
  return isWatched ? atMs : at.fromMs;
}

/** When an object was found to be gone. */
export function wentAt({ atMs, isWatched, afterMs }: Seen): Span {
  return isWatched ? exactly(atMs) : between(Math.min(afterMs ?? atMs, atMs), atMs);
}
