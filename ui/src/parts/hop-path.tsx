// The path of a change with a clock on every hop, as the server last reported it: to the right through the ordinary
// components, and below them straight to the proxies of Lockstep. Lateness is length; the first late hop
// is named, and those behind it only wait for it.

import { counted } from "../../../src/environment/counted.ts";
import type { LagRow, State } from "../../../src/server/api.ts";
import { age, duration } from "../format.ts";
import { type Part, partNames, type Reading, readingOf } from "../journey-path.ts";

type Clock = "waiting" | "recent" | "hour" | "none";
type Level = "fine" | "late" | "behind";

interface HopClock {
  readonly id: string;
  readonly part: Part;
  readonly name: string;
  readonly clock: Clock;
  readonly ms: number;
  /** Changes that it has yet to show. */
  readonly waiting: number;
  readonly level: Level;
}

export function HopPath({ state }: { readonly state: State }) {
  const reading = readingOf(state);
  const rows = state.lags.filter(({ hop }) => hop !== "pod" && hop !== "traffic");
  const isOwn = ({ kind }: LagRow) => kind === "lockstep";
  const ofVerdict = { ...reading, direction: state.verdict.late?.direction };
  const ordinary = clocksOf(
    rows.filter((row) => !isOwn(row)),
    ofVerdict,
  );
  const own = clocksOf(rows.filter(isOwn), ofVerdict);
  if (ordinary.length + own.length === 0) return null;
  const total = Math.max(lengthOf(ordinary), lengthOf(own));
  return (
    <div className="hop-path">
      <span className="hop-start">pod changes</span>
      <div className="hop-ways">
        {[ordinary, own].map((way) =>
          way.length === 0 ? null : <Way key={way[0]?.id} clocks={way} total={total} />,
        )}
      </div>
    </div>
  );
}

function Way({ clocks, total }: { readonly clocks: readonly HopClock[]; readonly total: number }) {
  const rest = total - lengthOf(clocks);
  return (
    <ol className="hop-way">
      {clocks.map((one, place) => (
        <li
          key={one.id}
          className={`hop ${one.part} ${one.level} ${one.clock}`}
          style={{ flexGrow: lengths(clocks)[place] }}
        >
          <span className="hop-clock">{clockText(one)}</span>
          <span className="hop-line" aria-hidden="true" />
          <span className="hop-name">{one.name}</span>
          <span className="hop-note">{noteOf(one, clocks)}</span>
        </li>
      ))}
      {rest > 0.5 && <li className="hop-rest" aria-hidden="true" style={{ flexGrow: rest }} />}
    </ol>
  );
}

function clockText({ clock, ms, level }: HopClock): string {
  if (clock === "none") return "–";
  const text = clock === "waiting" ? age(ms) : duration(ms);
  return level === "late" ? `▲ ${text}` : text;
}

function noteOf({ level, clock, waiting }: HopClock, clocks: readonly HopClock[]): string {
  const culprit = clocks.find((one) => one.level === "late");
  if (level === "behind" && culprit !== undefined) return `behind ${culprit.name}`;
  switch (clock) {
    case "waiting":
      return `${counted(waiting, "change")} waiting`;
    case "recent":
      return "median, last 2 min";
    case "hour":
      return "median, last hour";
    case "none":
      return "no change yet";
  }
}

interface VerdictReading extends Reading {
  /** Of the changes that the verdict is about: its clocks come first, so that both show one age. */
  readonly direction: LagRow["direction"] | undefined;
}

/** A clock for each hop and kind of replica, in the order of the hops; both directions in one. */
function clocksOf(rows: readonly LagRow[], reading: VerdictReading): readonly HopClock[] {
  const ids = [...new Set(rows.map(({ hop, kind }) => `${hop} ${kind}`))];
  const clocks = ids.map((id) => {
    const own = rows.filter(({ hop, kind }) => `${hop} ${kind}` === id);
    const { hop = "routed", kind = "" } = own[0] ?? {};
    const part = partOfRow(hop, kind);
    const name = nameOf(part, kind);
    return { id, part, name, ...clockOf(own, reading) };
  });
  // As in the verdict: a hop that waits at present comes before one that was late.
  const waiting = clocks.findIndex(({ isLate, clock }) => isLate && clock === "waiting");
  const first = waiting === -1 ? clocks.findIndex(({ isLate }) => isLate) : waiting;
  return clocks.map(({ isLate, ...one }, place) => ({
    ...one,
    level: place === first ? "late" : isLate && place > first ? "behind" : "fine",
  }));
}

function clockOf(rows: readonly LagRow[], { slowMs, direction }: VerdictReading) {
  const most = (of: (row: LagRow) => number | null) => {
    const sameDirection = rows.filter((row) => row.direction === direction && of(row) !== null);
    return (sameDirection.length > 0 ? sameDirection : rows)
      .flatMap((row) => of(row) ?? [])
      .reduce<number | undefined>((a, b) => (a === undefined ? b : Math.max(a, b)), undefined);
  };
  const oldest = most(({ oldestPendingMs }) => oldestPendingMs);
  const recent = most(({ recentMs }) => recentMs);
  const hour = most(({ p50Ms }) => p50Ms);
  const waiting = rows.reduce((sum, { pending }) => sum + pending, 0);
  if (oldest !== undefined && (oldest >= slowMs || recent === undefined)) {
    return { clock: "waiting" as const, ms: oldest, waiting, isLate: oldest >= slowMs };
  }
  if (recent !== undefined) {
    return { clock: "recent" as const, ms: recent, waiting, isLate: recent >= slowMs };
  }
  const clock: Clock = hour === undefined ? "none" : "hour";
  return { clock, ms: hour ?? 0, waiting, isLate: false };
}

function partOfRow(hop: LagRow["hop"], kind: string): Part {
  if (hop !== "routed") return hop;
  return kind === "lockstep" ? "lockstep" : "proxy";
}

function nameOf(part: Part, kind: string): string {
  if (part !== "proxy") return part === "lockstep" ? "Lockstep proxies" : partNames[part];
  return kind === "stock" ? "stock proxies (model)" : kind === "" ? "proxies" : `${kind} proxies`;
}

/** A hop is as long as it adds to the lag, on a logarithmic scale; those that only wait are short. */
function lengths(clocks: readonly HopClock[]): readonly number[] {
  return clocks.map(({ ms, level, clock }, place) => {
    if (level === "behind" || clock === "none") return 1;
    const before = Math.max(0, ...clocks.slice(0, place).map((one) => one.ms));
    return 1 + 2 * Math.log10(1 + Math.max(0, ms - before) / 10);
  });
}

function lengthOf(clocks: readonly HopClock[]): number {
  return lengths(clocks).reduce((sum, one) => sum + one, 0);
}
