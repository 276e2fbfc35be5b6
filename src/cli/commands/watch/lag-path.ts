// A change as a path with a clock: time to the right on a logarithmic scale, a letter where each hop
// showed it, and a line as long as it took. Lags span six orders of magnitude, so a linear scale
// would hide everything but the longest. Letters never cover each other: those of hops that showed it
// at nearly the same time stand side by side, so the first of them is where the time went. Pure.
import { ageMs, type HopTime, type Journey } from "../../../timeline/journey.ts";
import type { Hop } from "../../../timeline/witness.ts";
import type { Paint } from "../../terminal/paint.ts";
import type { Judging } from "./hop-cell.ts";

/** As wide as the scale from one millisecond to past ten minutes needs. */
export const pathColumns = 32;

const columnsPerDecade = 5;

const letterOf: Readonly<Record<Hop, string>> = {
  pod: "o",
  published: "p",
  synced: "s",
  routed: "r",
  traffic: "t",
};

const marks: readonly (readonly [number, string])[] = [
  [1, "1ms"],
  [10, "10ms"],
  [100, "0.1s"],
  [1_000, "1s"],
  [10_000, "10s"],
  [60_000, "1m"],
  [600_000, "10m"],
];

export function pathScale(): string {
  const line = Array<string>(pathColumns).fill(" ");
  for (const [ms, label] of marks) {
    line.splice(Math.round(Math.log10(ms) * columnsPerDecade), label.length, ...label.split(""));
  }
  return line.join("").trimEnd();
}

export function lagPath(journey: Journey, judging: Judging, paint: Paint): string {
  const cells = Array<string>(pathColumns).fill("");
  const isPending = journey.outcome === "pending";
  const awaited = isPending && journey.hops.some(isAwaited);
  const isStuck = journey.hops.some(({ state }) => state.type === "stuck");
  const letters = letterPlaces(journey);
  const lastShown = letters.at(-1)?.at ?? 0;
  const end = awaited ? placeOf(ageMs(journey, judging.now)) : lastShown;
  const lateFrom = placeOf(judging.slowMs);
  for (let at = 0; at <= Math.max(end, lastShown); at += 1) {
    const tone = at < lateFrom ? paint.secondary : isStuck ? paint.failed : paint.late;
    cells[at] = tone(at <= lastShown ? "─" : "╌");
  }
  for (const { letter, lagMs, at } of letters) {
    cells[at] = (lagMs < judging.slowMs ? paint.strong : paint.late)(letter);
  }
  if (awaited && end > lastShown) cells[end] = (isStuck ? paint.failed : paint.late)("…");
  return cells.join("");
}

interface LetterPlace {
  readonly letter: string;
  readonly lagMs: number;
  readonly at: number;
}

/** From left to right; of several replicas only those that are apart have letters of their own. */
function letterPlaces({ hops }: Journey): readonly LetterPlace[] {
  const shown = hops
    .flatMap(({ hop, state }) =>
      state.type === "shown" ? [{ letter: letterOf[hop], lagMs: state.lagMs }] : [],
    )
    .sort((a, b) => a.lagMs - b.lagMs);
  const places: LetterPlace[] = [];
  for (const { letter, lagMs } of shown) {
    const last = places.at(-1);
    const ownPlace = placeOf(lagMs);
    const isCrowded = last !== undefined && ownPlace <= last.at;
    if (isCrowded && places.some((one) => one.letter === letter)) continue;
    const at = isCrowded ? last.at + 1 : ownPlace;
    if (at < pathColumns) places.push({ letter, lagMs, at });
  }
  return places;
}

/** Requests come when they come, so nobody waits for one. */
function isAwaited({ hop, state }: HopTime): boolean {
  return hop !== "traffic" && (state.type === "pending" || state.type === "stuck");
}

function placeOf(ms: number): number {
  const place = Math.floor(Math.log10(Math.max(1, ms)) * columnsPerDecade);
  return Math.min(place, pathColumns - 1);
}
