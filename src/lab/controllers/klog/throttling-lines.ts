// The lines client-go writes when a request waited for the client's own rate limit. Each
// version has its own text, and at low verbosity few lines. A reader of logs sees no more: a
// line shows the wait of one request for its token and nothing of the queue before it.

import { type Klog, structured } from "../../../components/klog.ts";
import { type Clock, elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import { goDuration } from "../../../environment/go-duration.ts";
import type { ThrottledRequest } from "../../../kube/client/rate-limited-client.ts";
import type { ThrottlingLines } from "../../versions/profile.ts";

export interface ThrottlingLogOptions {
  readonly clock: Clock;
  readonly klog: Klog;
  readonly lines: ThrottlingLines;
  /** The process's verbosity. */
  readonly verbosity: number;
}

/** Waits longer than this are worth a line at low verbosity: client-go extraLongThrottleLatency. */
const longWaitMs = 1000;

/** client-go rest/request.go globalThrottledLogger: the first setting that is enabled decides. */
const samples = [
  { verbosity: 2, everyMs: 1000 },
  { verbosity: 0, everyMs: 10_000 },
] as const;

/** One for the whole process: the sampling is shared by all its clients. */
export class ThrottlingLog {
  readonly #options: ThrottlingLogOptions;
  /** When each of `samples` last let a line through. */
  readonly #sampledAt: (MonotonicMs | undefined)[] = samples.map(() => undefined);

  constructor(options: ThrottlingLogOptions) {
    this.#options = options;
  }

  readonly report = (request: ThrottledRequest): void => {
    const { klog, lines, verbosity } = this.#options;
    const message = describe(lines, request);
    if (verbosity >= lines.verbosity) klog.write("I", lines.source, message);
    const isSampled = lines.sampledSource !== undefined && request.waitedMs > longWaitMs;
    if (isSampled && this.#takeSample()) klog.write("I", lines.sampledSource, message);
  };

  #takeSample(): boolean {
    const now = this.#options.clock.monotonicMs();
    for (const [index, { verbosity, everyMs }] of samples.entries()) {
      if (this.#options.verbosity < verbosity) continue;
      const last = this.#sampledAt[index];
      if (last !== undefined && elapsedMs(last, now) < everyMs) return false;
      this.#sampledAt[index] = now;
      return true;
    }
    return false;
  }
}

function describe(lines: ThrottlingLines, { waitedMs, method, url }: ThrottledRequest): string {
  const delay = goDuration(waitedMs);
  switch (lines.format) {
    case "took":
      return `Throttling request took ${delay}, request: ${method}:${url}`;
    case "structured":
      return structured("Waited before sending request", {
        delay,
        reason: "client-side throttling, not priority and fairness",
        verb: method,
        URL: url,
      });
  }
}
