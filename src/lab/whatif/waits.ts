// The waits of changes: median, 99th percentile and longest. Changes are weighted by the share of time that
// they stand for.
import type { Probe } from "./pod-changes.ts";

export interface Waits {
  readonly changes: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface ChangeWaits extends Waits {
  readonly joins: Waits | undefined;
  readonly leaves: Waits | undefined;
}

/** Changes that stand together for this share of all moments. */
export interface WeightedProbes {
  readonly probes: readonly Probe[];
  readonly share: number;
}

/** Undefined when nothing was timed. */
export function changeWaits(groups: readonly WeightedProbes[]): ChangeWaits | undefined {
  const all = waits(groups);
  if (all === undefined) return undefined;
  const only = (kind: Probe["kind"]) =>
    waits(
      groups.map(({ probes, share }) => ({
        probes: probes.filter((probe) => probe.kind === kind),
        share,
      })),
    );
  return { ...all, joins: only("join"), leaves: only("leave") };
}

function waits(groups: readonly WeightedProbes[]): Waits | undefined {
  const weighted = groups
    .flatMap(({ probes, share }) =>
      probes.map(({ waitMs = 0 }) => ({ waitMs, weight: share / probes.length })),
    )
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => one.waitMs - other.waitMs);
  const last = weighted.at(-1);
  if (last === undefined) return undefined;
  const total = weighted.reduce((sum, { weight }) => sum + weight, 0);
  const quantile = (share: number): number => {
    let passed = 0;
    for (const { waitMs, weight } of weighted) {
      passed += weight;
      if (passed >= share * total * roundingSlack) return waitMs;
    }
    return last.waitMs;
  };
  return {
    changes: weighted.length,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    maxMs: last.waitMs,
  };
}

/** Rounding may make a sum of many small weights a little too low. */
const roundingSlack = 1 - 1e-9;
