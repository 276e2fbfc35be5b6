// Measures how late a Service's own slices were beside its twin. A difference begins when the decision
// for the twin differs from the slices about an address. It ends as late slices when the slices come to
// agree, and without a result when the decision goes back. Invariant: an address that both agree on has
// no open difference.
import { elapsedMs, type MonotonicMs, type WallMs } from "../../environment/clock.ts";

/** One address that the slices listed for too long. */
export interface LateWindow {
  readonly address: string;
  readonly from: WallMs;
  readonly to: WallMs;
  /** How many endpoints the slices listed as ready in that time, this one included. */
  readonly listed: number;
}

export interface LateCounts {
  /** Changes that the twin had first. */
  readonly count: number;
  /** Of these, slices that followed after more than a second. */
  readonly late: number;
  readonly longestMs: number;
  /** Of the latest changes, the oldest first. */
  readonly recentMs: readonly number[];
}

export interface LateReport {
  /** Removals: requests to the address fail. */
  readonly leaves: LateCounts;
  /** Additions: the address gets no requests. */
  readonly joins: LateCounts;
  /** Of removals that were late by more than a second, the latest ones. */
  readonly windows: readonly LateWindow[];
}

export interface Comparison {
  /** Addresses that the twin lists as ready. */
  readonly decided: ReadonlySet<string>;
  /** Addresses that the Service's own slices list as ready. */
  readonly published: ReadonlySet<string>;
  readonly at: MonotonicMs;
  readonly wall: WallMs;
}

/** An ordinary control plane needs less. */
export const lateFromMs = 1_000;

/** Enough for a median that says something; a report of a thousand twins stays below half a MiB. */
const recentMax = 60;
const windowsMax = 20;

interface OpenDifference {
  readonly kind: "leave" | "join";
  readonly at: MonotonicMs;
  readonly wall: WallMs;
  readonly listed: number;
}

export const noLateness: LateCounts = { count: 0, late: 0, longestMs: 0, recentMs: [] };
export const nothingLate: LateReport = { leaves: noLateness, joins: noLateness, windows: [] };

export class LateSlices {
  readonly #open = new Map<string, OpenDifference>();
  #report: LateReport;

  /** Continues the report of an earlier replica. */
  constructor(report: LateReport = nothingLate) {
    this.#report = report;
  }

  get report(): LateReport {
    return this.#report;
  }

  get hasCounted(): boolean {
    return this.#report.leaves.count + this.#report.joins.count > 0;
  }

  /** The slices of how many addresses are behind now, and since when the oldest. */
  behind(now: MonotonicMs): { readonly count: number; readonly oldestMs: number } {
    let oldestMs = 0;
    for (const { at } of this.#open.values()) oldestMs = Math.max(oldestMs, elapsedMs(at, now));
    return { count: this.#open.size, oldestMs };
  }

  /** Ends all open differences without a result: there is no twin any more, or Kubernetes serves it. */
  end(): void {
    this.#open.clear();
  }

  /** Takes note of what is decided and what is published now; returns the lags that ended. */
  compare(comparison: Comparison): readonly { readonly kind: "leave" | "join"; lagMs: number }[] {
    const { decided, published, at, wall } = comparison;
    const ended: { readonly kind: "leave" | "join"; lagMs: number }[] = [];
    for (const [address, open] of this.#open) {
      const isListed = published.has(address);
      if (isListed !== decided.has(address)) continue;
      this.#open.delete(address);
      // When the slices still say what they said, the decision went back.
      const hasFollowed = isListed === (open.kind === "join");
      if (!hasFollowed) continue;
      const lagMs = Math.round(elapsedMs(open.at, at));
      ended.push({ kind: open.kind, lagMs });
      this.#count(open, address, lagMs, wall);
    }
    const listed = published.size;
    const note = (address: string, kind: OpenDifference["kind"]) => {
      if (this.#open.get(address)?.kind === kind) return;
      this.#open.set(address, { kind, at, wall, listed });
    };
    for (const address of published) if (!decided.has(address)) note(address, "leave");
    for (const address of decided) if (!published.has(address)) note(address, "join");
    return ended;
  }

  #count({ kind, wall: from, listed }: OpenDifference, address: string, lagMs: number, to: WallMs) {
    const counts = kind === "leave" ? this.#report.leaves : this.#report.joins;
    const isLate = lagMs > lateFromMs;
    const counted: LateCounts = {
      count: counts.count + 1,
      late: counts.late + Number(isLate),
      longestMs: Math.max(counts.longestMs, lagMs),
      recentMs: [...counts.recentMs, lagMs].slice(-recentMax),
    };
    if (kind === "join") {
      this.#report = { ...this.#report, joins: counted };
      return;
    }
    const window = { address, from, to, listed };
    const { windows } = this.#report;
    this.#report = {
      ...this.#report,
      leaves: counted,
      windows: isLate ? [...windows, window].slice(-windowsMax) : windows,
    };
  }
}

export function medianMs(lagsMs: readonly number[]): number | undefined {
  const sorted = lagsMs.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}
