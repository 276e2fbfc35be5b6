// One storm: counted at the API server, and measured from the look before it to the look at which the
// queue is empty again, with the constraint that bound it.
import type { RequestObserver } from "../../../apiserver/http/request-record.ts";
import { bindingConstraint, type ConstraintName } from "../../probe/constraint.ts";
import { type TimedLook, workBetween } from "../../probe/queue-watch.ts";
import { loggedWaits } from "../../probe/throttling-waits.ts";
import type { Scene } from "../scene.ts";

export interface Storm extends StormWindow {
  /** The first request; without any, the last look before the queue was filled. */
  readonly atMs: number;
  /** From the first request to the last. */
  readonly drainMs: number;
  /** Requests a second while it drained. */
  readonly rate: number;
  /** Mean time of a worker per key. */
  readonly workMs: number;
  /** The share of the last requests that waited long enough for the limiter to be logged. */
  readonly throttledShare: number;
  readonly constraint: ConstraintName;
}

export interface StormOptions {
  readonly before: TimedLook;
  readonly after: TimedLook;
  readonly workers: number;
  /** The write capacity of the API server; undefined when it is not bounded. */
  readonly writesPerSecond: number | undefined;
}

/** The log does not keep a whole storm, so only its end is read. */
const sampleMs = 60_000;

/** When the queue is empty, each worker may still wait for an answer. */
const settleMs = 2_000;

export async function measureStorm(
  { client, stage }: Pick<Scene, "client" | "stage">,
  counters: StormCounters,
  { before, after, workers, writesPerSecond }: StormOptions,
): Promise<Storm> {
  await stage.sleep(settleMs);
  const window = counters.window(before.atMs);
  const { firstMs = before.atMs, lastMs = before.atMs, requests, meanServerMs } = window;
  const drainMs = lastMs - firstMs;
  const { keys, workMs } = workBetween(before, after);
  const { name: constraint } = bindingConstraint({
    durationMs: drainMs,
    workers,
    workMs,
    requests,
    serverMs: requests * meanServerMs,
    writes: requests,
    writesPerSecond,
    // The last key waits for the whole storm.
    worstWaitMs: drainMs,
  });
  return {
    ...window,
    atMs: firstMs,
    drainMs,
    rate: drainMs === 0 ? 0 : ((requests - 1) * 1000) / drainMs,
    workMs: keys === 0 ? 0 : workMs / keys,
    throttledShare: await throttledShare(client, counters, stage.now(), lastMs),
    constraint,
  };
}

/** Of the requests in the last part of the storm. */
async function throttledShare(
  client: Scene["client"],
  counters: StormCounters,
  nowMs: number,
  lastMs: number,
): Promise<number> {
  const sinceMs = nowMs - lastMs + sampleMs;
  const { requests } = counters.window(nowMs - sinceMs);
  const lines = (await loggedWaits(client, sinceMs))?.count ?? 0;
  return requests === 0 ? 0 : Math.min(1, lines / requests);
}

export interface StormWindow {
  /** PUTs of Endpoints by the endpoints controller. */
  readonly requests: number;
  /** Different objects among them. */
  readonly keys: number;
  /** Changes of Endpoints that a watch reported. */
  readonly events: number;
  /** When the first and the last of the requests were answered; undefined without any. */
  readonly firstMs: number | undefined;
  readonly lastMs: number | undefined;
  /** Mean time of the server per request. */
  readonly meanServerMs: number;
}

interface Written {
  readonly atMs: number;
  readonly key: string;
  readonly serverMs: number;
}

/** The end of the user agent of the controller's client. */
const controllerName = "/endpoint-controller";

/**
 * Requests of the endpoints controller, as an audit log would have them, and changes that a watch of all
 * Endpoints reported. Bounded by the length of one play.
 */
export class StormCounters {
  readonly #now: () => number;
  readonly #written: Written[] = [];
  readonly #changedAtMs: number[] = [];

  /** `now` is the time of the stage. */
  constructor(now: () => number) {
    this.#now = now;
  }

  readonly requests: RequestObserver = {
    finished: ({ request, route }, { code, elapsedMs }) => {
      if (route?.type !== "resource" || route.verb !== "update" || code !== 200) return;
      const isTheirs = request.headers["user-agent"]?.endsWith(controllerName) === true;
      if (!isTheirs || route.kind.resource !== "endpoints") return;
      const key = `${route.namespace}/${route.name}`;
      this.#written.push({ atMs: this.#now(), key, serverMs: elapsedMs });
    },
  };

  /** A watch reported a new version of some Endpoints. */
  changed(): void {
    this.#changedAtMs.push(this.#now());
  }

  window(fromMs: number, toMs = Number.POSITIVE_INFINITY): StormWindow {
    const written = this.#written.slice(
      firstAtOrAfter(this.#written, ({ atMs }) => atMs, fromMs),
      firstAtOrAfter(this.#written, ({ atMs }) => atMs, toMs),
    );
    const serverMs = written.reduce((total, one) => total + one.serverMs, 0);
    return {
      requests: written.length,
      keys: new Set(written.map(({ key }) => key)).size,
      events:
        firstAtOrAfter(this.#changedAtMs, (atMs) => atMs, toMs) -
        firstAtOrAfter(this.#changedAtMs, (atMs) => atMs, fromMs),
      firstMs: written[0]?.atMs,
      lastMs: written.at(-1)?.atMs,
      meanServerMs: written.length === 0 ? 0 : serverMs / written.length,
    };
  }
}

/** The index of the first entry that is not before an instant; entries are in order of time. */
function firstAtOrAfter<T>(
  entries: readonly T[],
  timeOf: (entry: T) => number,
  instantMs: number,
): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const entry = entries[middle];
    if (entry !== undefined && timeOf(entry) < instantMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
