// The requests to an address since a change, from access logs. Lines come in any order and late;
// only the earliest, the latest and the number count.
import type { MonotonicMs } from "../environment/clock.ts";
import type { LeaveTraffic } from "./journey.ts";
import { type TrafficReport, type Witness, witnessId } from "./witness.ts";

interface Span {
  readonly firstAt: MonotonicMs;
  readonly lastAt: MonotonicMs;
}

export class RequestNotes {
  readonly #spans = new Map<string, Span>();
  #requests = 0;
  #failed = 0;
  #lastFailedAt: MonotonicMs | undefined;
  #lastAt: MonotonicMs;

  constructor(since: MonotonicMs) {
    this.#lastAt = since;
  }

  /** The latest request, or the change itself. */
  get lastAt(): MonotonicMs {
    return this.#lastAt;
  }

  get totals(): LeaveTraffic {
    return {
      requests: this.#requests,
      failed: this.#failed,
      lastFailedAt: this.#lastFailedAt,
    };
  }

  /** The span of this log's requests; undefined without any. */
  by(witness: Witness): Span | undefined {
    return this.#spans.get(witnessId(witness));
  }

  note({ witness, at, failed }: TrafficReport): void {
    const { firstAt = at, lastAt = at } = this.by(witness) ?? {};
    this.#spans.set(witnessId(witness), {
      firstAt: at < firstAt ? at : firstAt,
      lastAt: later(lastAt, at),
    });
    this.#requests += 1;
    this.#lastAt = later(this.#lastAt, at);
    if (!failed) return;
    this.#failed += 1;
    this.#lastFailedAt = later(this.#lastFailedAt ?? at, at);
  }
}

function later(a: MonotonicMs, b: MonotonicMs): MonotonicMs {
  return a < b ? b : a;
}
