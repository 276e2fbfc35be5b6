// One request as metrics see it: in flight (or long-running) from the moment it is understood, and
// counted once with its code and duration when it is over.
import { type Clock, elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import { isLongRunning, placeLabels, type RequestMetrics, requestKind } from "./request-metrics.ts";
import type { Route } from "./route.ts";

/** What real servers count when the client left before the answer. */
export const clientGoneCode = 0;

export class RequestRecord {
  readonly #metrics: RequestMetrics;
  readonly #clock: Clock;
  readonly #method: string;
  readonly #began: MonotonicMs;
  #route: Route | undefined;

  constructor(options: { metrics: RequestMetrics; clock: Clock; method: string }) {
    this.#metrics = options.metrics;
    this.#clock = options.clock;
    this.#method = options.method;
    this.#began = options.clock.monotonicMs();
  }

  /** Called once, when it is known what is asked for. */
  begin(route: Route): void {
    this.#route = route;
    this.#countInFlight(route, 1);
  }

  finish(code: number): void {
    const labels = placeLabels(this.#method, this.#route);
    this.#metrics.total.inc({ ...labels, code: String(code), dry_run: "" });
    const seconds = elapsedMs(this.#began, this.#clock.monotonicMs()) / 1000;
    this.#metrics.durationSeconds.observe(labels, seconds);
    if (this.#route !== undefined) {
      this.#countInFlight(this.#route, -1);
    }
  }

  #countInFlight(route: Route, change: 1 | -1): void {
    if (isLongRunning(route)) {
      this.#metrics.longRunning.inc(placeLabels(this.#method, route), change);
    } else {
      this.#metrics.inFlight.inc({ request_kind: requestKind(this.#method) }, change);
    }
  }
}
