// A change as a path with a clock: time to the right on a logarithmic scale, a letter where each hop
// showed it, and a line as long as it took. Lags span six orders of magnitude, so a linear scale
// would hide everything but the longest. Pure.
import { ageMs, type HopTime, type Journey } from "../../journeys/journey.ts";
import type { Hop } from "../../journeys/witness.ts";
import type { Paint } from "../paint.ts";
import type { Judging } from "./hop-cell.ts";

/** As wide as the scale from one millisecond to past ten minutes needs. */
export const pathColumns = 31;

const columnsPerDecade = 5;

const letters: Readonly<Record<Hop, string>> = {
  pod: "o",
  published: "p",
  synced: "s",
  routed: "r",
  traffic: "t",
};

const marks: readonly (readonly [number, string])[] = [
  [1, "1ms"],
  [10, "10ms"],
  [100, ".1s"],
  [1_000, "1s"],
  [10_000, "10"],
  [60_000, "1m"],
  [600_000, "10m"],
];

export function pathScale(): string {
  const line = Array<string>(pathColumns + 3).fill(" ");
  for (const [ms, label] of marks) line.splice(placeOf(ms), label.length, ...label.split(""));
  return line.join("").slice(0, pathColumns);
}

export function lagPath(journey: Journey, judging: Judging, paint: Paint): string {
  const cells = Array<string>(pathColumns).fill("");
  const isPending = journey.outcome === "pending";
  const awaited = isPending && journey.hops.some(isAwaited);
  const isStuck = journey.hops.some(({ state }) => state.type === "stuck");
  const lags = journey.hops.flatMap(({ state }) => (state.type === "shown" ? [state.lagMs] : []));
  const lastShown = placeOf(Math.max(0, ...lags));
  const end = awaited ? placeOf(ageMs(journey, judging.now)) : lastShown;
  const lateFrom = placeOf(judging.slowMs);
  for (let at = 0; at <= Math.max(end, lastShown); at += 1) {
    const tone = at < lateFrom ? paint.secondary : isStuck ? paint.failed : paint.late;
    cells[at] = tone(at <= lastShown ? "─" : "╌");
  }
  for (const { hop, state } of journey.hops) {
    if (state.type !== "shown") continue;
    const at = placeOf(state.lagMs);
    cells[at] = (state.lagMs < judging.slowMs ? paint.strong : paint.late)(letters[hop]);
  }
  if (awaited && end > lastShown) cells[end] = (isStuck ? paint.failed : paint.late)("…");
  return cells.join("");
}

/** Requests come when they come, so nobody waits for one. */
function isAwaited({ hop, state }: HopTime): boolean {
  return hop !== "traffic" && (state.type === "pending" || state.type === "stuck");
}

function placeOf(ms: number): number {
  const place = Math.floor(Math.log10(Math.max(1, ms)) * columnsPerDecade);
  return Math.min(place, pathColumns - 1);
}
