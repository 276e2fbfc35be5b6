// The cell of one hop for one change, in eight columns: the lag, the time waited so far, or
// unknown. Late and stuck have a sign besides the colour. Pure.
import type { MonotonicMs } from "../../../environment/clock.ts";
import { shortDuration } from "../../../environment/duration-text.ts";
import { isBeforePod, isFirstReported } from "../../../timeline/first-reported.ts";
import { ageMs, type HopState, type Journey, type Outcome } from "../../../timeline/journey.ts";
import { type LagBound, lagBound, type ShownState } from "../../../timeline/lag-bound.ts";
import type { Direction, Hop } from "../../../timeline/witness.ts";
import type { Paint } from "../../terminal/paint.ts";

export type Tone = "plain" | "quiet" | "late" | "failed";

export interface HopCell {
  readonly text: string;
  readonly tone: Tone;
}

export interface Judging {
  readonly now: MonotonicMs;
  /** Lags at or above this are late. */
  readonly slowMs: number;
}

const slowSign = "▲";
const stuckSign = "✗";
export const unknownSign = "?";

/** With several sources at a hop the slowest one counts. */
export function hopCell(journey: Journey, hop: Hop, judging: Judging): HopCell {
  const states = journey.hops.filter((one) => one.hop === hop).map(({ state }) => state);
  // Requests already read still count when the log is no longer read.
  const hasRequests = hop === "traffic" && (journey.traffic?.requests ?? 0) > 0;
  if (states.length === 0 && !hasRequests) return { text: unknownSign, tone: "quiet" };
  if (hop === "traffic") return trafficCell(journey, states, judging);
  const isAwaited = states.some(({ type }) => type === "pending" || type === "stuck");
  if (isAwaited && journey.outcome === "unknown") return lostCell(states);
  if (isAwaited && journey.outcome !== "pending") return { text: "never", tone: "late" };
  if (isAwaited) {
    const bound = journey.origin.beforeStart === true ? "≥" : "";
    return awaitedCell(states, Math.max(0, ageMs(journey, judging.now)), { ...judging, bound });
  }
  const isUnknown = states.every((state) => isFirstReported(journey, { hop, state }));
  if (isUnknown) return lagCell(0, judging, { bound: "≥" });
  // This hop reported the change before the pod watch did.
  const shown = states.filter(({ type }) => type === "shown");
  const isFirst = shown.length > 0 && shown.every((state) => isBeforePod(journey, hop, state));
  return isFirst ? { text: "first", tone: "plain" } : shownCell(states, judging);
}

/** The observer ended before the hop showed it, so the result is unknown. */
function lostCell(states: readonly HopState[]): HopCell {
  const isStuck = states.some(({ type }) => type === "stuck");
  return isStuck
    ? { text: `${stuckSign}${unknownSign}`, tone: "late" }
    : { text: unknownSign, tone: "quiet" };
}

/** No request is awaited; failed requests are most important. */
function trafficCell(journey: Journey, states: readonly HopState[], judging: Judging): HopCell {
  const failed = journey.traffic?.failed ?? 0;
  if (failed > 0) return { text: `${stuckSign}${failed} fail`, tone: "failed" };
  if (states.some(({ type }) => type === "shown")) {
    // The first request to an added address depends on the clients, so it is never slow.
    const isJoin = journey.direction === "join";
    return shownCell(states, isJoin ? { ...judging, slowMs: Number.POSITIVE_INFINITY } : judging);
  }
  const requests = journey.traffic?.requests ?? 0;
  if (requests > 0) return { text: `${requests} req`, tone: "plain" };
  const isOver = journey.outcome !== "pending" || states.every(({ type }) => type === "quiet");
  return { text: isOver ? "no req" : "…", tone: "quiet" };
}

function shownCell(states: readonly HopState[], judging: Judging): HopCell {
  const shown = states.flatMap((state) => (state.type === "shown" ? [state] : []));
  const [last] = shown.sort((a, b) => b.lagMs - a.lagMs);
  if (last !== undefined) {
    return lagCell(last.lagMs, judging, { bound: lagBound(last), isLate: isLate(last, judging) });
  }
  return { text: states.some(({ type }) => type === "passed") ? "passed" : "same", tone: "quiet" };
}

/**
 * The lag that is compared with `--slow`. If the start is an interval, only the certain part
 * counts, because an interrupted watch does not show how late the change was. Otherwise it is the
 * maximum.
 */
export function judgedLag(state: ShownState): { readonly ms: number; readonly isLeast: boolean } {
  const bound = lagBound(state);
  const ms = bound === "~" ? (state.range?.minMs ?? 0) : state.lagMs;
  return { ms, isLeast: bound === "~" || bound === "≥" };
}

export function isLate(state: HopState, { slowMs }: Pick<Judging, "slowMs">): boolean {
  return state.type === "shown" && judgedLag(state).ms >= slowMs;
}

/** The pod watch showed the change late, or is stuck. */
export function isPodLate({ hops }: Journey, judging: Pick<Judging, "slowMs">): boolean {
  return hops.some(
    ({ hop, state }) => hop === "pod" && (state.type === "stuck" || isLate(state, judging)),
  );
}

/** A finished lag. */
export function lagCell(
  lagMs: number,
  { slowMs }: Pick<Judging, "slowMs">,
  { bound = "", isLate: late = lagMs >= slowMs }: { bound?: LagBound; isLate?: boolean } = {},
): HopCell {
  const text = bound + shortDuration(lagMs);
  return late ? { text: `${slowSign}${text}`, tone: "late" } : { text, tone: "plain" };
}

/** A lag that still grows. */
export function awaitedCell(
  states: readonly HopState[],
  age: number,
  { slowMs, bound = "" }: Pick<Judging, "slowMs"> & { readonly bound?: LagBound },
): HopCell {
  const text = `${bound}${shortDuration(age)}…`;
  if (states.some(({ type }) => type === "stuck")) {
    return { text: `${stuckSign}${text}`, tone: "failed" };
  }
  return age < slowMs ? { text, tone: "quiet" } : { text: `${slowSign}${text}`, tone: "late" };
}

export function paintTone(
  { secondary, late, failed }: Paint,
  tone: Tone,
): (text: string) => string {
  switch (tone) {
    case "plain":
      return (text) => text;
    case "quiet":
      return secondary;
    case "late":
      return late;
    case "failed":
      return failed;
  }
}

/** A hop was slow or is still awaited for so long that the change gets its own line. */
export function isSlow(journey: Journey, judging: Judging): boolean {
  return journey.hops.some(({ hop, state }) => {
    if (hop === "traffic") return (journey.traffic?.failed ?? 0) > 0;
    if (state.type === "shown") return isLate(state, judging);
    if (state.type === "stuck") return true;
    if (state.type !== "pending" || journey.outcome === "superseded") return false;
    return ageMs(journey, judging.now) >= judging.slowMs;
  });
}

export const directionNames: Readonly<Record<Direction, string>> = {
  leave: "removal",
  join: "addition",
};

/** Width of the longest name. */
export const directionNameColumns = 8;

/** The plain forms of the vocabulary, for the cell of one change. */
export const outcomeNames: Readonly<Record<Outcome, string>> = {
  pending: "in flight",
  complete: "complete",
  superseded: "superseded",
  withdrawn: "withdrawn",
  abandoned: "given up",
  dropped: "dropped",
  unknown: "unknown",
};

/** For counts in a summary, behind a number. A complete change needs no reason. */
export const outcomeReasons: readonly (readonly [Outcome, string])[] = [
  ["superseded", "superseded by the opposite change"],
  ["withdrawn", "withdrawn by the only proxy that showed it"],
  ["abandoned", "given up after hours"],
  ["dropped", "dropped (too many in flight)"],
  ["pending", "in flight"],
  ["unknown", "unknown (the observer ended first)"],
];
