// Summary of all verdicts: for each cause the number, the share, the largest delay, the services
// and the times. Bounded, however long the logs are.
import type { Length } from "./span.ts";
import {
  type Cause,
  type Confidence,
  causes,
  type RequestVerdict,
  staleCauses,
} from "./verdict.ts";

export interface CauseSummary {
  readonly cause: Cause;
  readonly requests: number;
  /** Of all that were judged. */
  readonly share: number;
  readonly byConfidence: Readonly<Record<Confidence, number>>;
  readonly worstLate: Length | undefined;
  /** The most concerned first; `servicesMax` at the most. */
  readonly services: readonly { readonly service: string; readonly requests: number }[];
  readonly firstMs: number;
  readonly lastMs: number;
  /** The first of those that were the latest. */
  readonly worst: RequestVerdict;
}

export interface BlameSummary {
  readonly requests: number;
  /** Sent to an endpoint that should not have got them any more. */
  readonly stale: number;
  readonly causes: readonly CauseSummary[];
}

/** Shown for a cause. */
const servicesMax = 5;

/** Counted for a cause; beyond that only those already known are. */
const servicesCountedMax = 10_000;

interface Tally {
  requests: number;
  readonly byConfidence: Record<Confidence, number>;
  worstLate: Length | undefined;
  readonly services: Map<string, number>;
  firstMs: number;
  lastMs: number;
  worst: RequestVerdict;
}

export class BlameTally {
  readonly #byCause = new Map<Cause, Tally>();
  #requests = 0;

  add(verdict: RequestVerdict): void {
    this.#requests += 1;
    const { cause, confidence, endedMs, late, service } = verdict;
    const tally = this.#byCause.get(cause) ?? newTally(verdict);
    this.#byCause.set(cause, tally);
    tally.requests += 1;
    tally.byConfidence[confidence] += 1;
    tally.firstMs = Math.min(tally.firstMs, endedMs);
    tally.lastMs = Math.max(tally.lastMs, endedMs);
    if (late !== undefined && late.mostMs > (tally.worstLate?.mostMs ?? -1)) {
      tally.worstLate = late;
      tally.worst = verdict;
    }
    if (service === undefined) return;
    const count = tally.services.get(service);
    if (count === undefined && tally.services.size >= servicesCountedMax) return;
    tally.services.set(service, (count ?? 0) + 1);
  }

  summary(): BlameSummary {
    const found = causes.flatMap((cause) => {
      const tally = this.#byCause.get(cause);
      return tally === undefined ? [] : [this.#summaryOf(cause, tally)];
    });
    const stale = found.filter(({ cause }) => staleCauses.has(cause));
    return {
      requests: this.#requests,
      stale: stale.reduce((sum, { requests }) => sum + requests, 0),
      causes: found,
    };
  }

  #summaryOf(cause: Cause, tally: Tally): CauseSummary {
    const { requests, byConfidence, worstLate, firstMs, lastMs, worst } = tally;
    const services = [...tally.services]
      .map(([service, count]) => ({ service, requests: count }))
      .sort((one, other) => other.requests - one.requests || (one.service < other.service ? -1 : 1))
      .slice(0, servicesMax);
    const share = requests / this.#requests;
    const when = { firstMs, lastMs };
    return { cause, requests, share, byConfidence, worstLate, services, ...when, worst };
  }
}

function newTally(worst: RequestVerdict): Tally {
  const { endedMs } = worst;
  return {
    requests: 0,
    byConfidence: { certain: 0, likely: 0, "cannot tell": 0 },
    worstLate: undefined,
    services: new Map(),
    firstMs: endedMs,
    lastMs: endedMs,
    worst,
  };
}
