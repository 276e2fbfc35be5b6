// One storm, measured from the look before it to the look at which the queue is empty again, and
// what held it up. Which constraint binds is told from measurements alone.

import type { RequestObserver } from "../../../apiserver/http/served-request.ts";
import { loggedWaits } from "../../probe/throttling-waits.ts";
import type { Scene } from "../scene.ts";
import { type QueueLook, workBetween } from "./resync-storm-queue.ts";

export interface Storm extends StormWindow {
  /** The first request, or the last look before the queue was filled when there was none. */
  readonly atMs: number;
  /** From the first request to the last. */
  readonly drainMs: number;
  /** Requests a second while it drained. */
  readonly rate: number;
  /** How long a worker was at a key, on average. */
  readonly workMs: number;
  /** Workers that were at it, on average while it drained. */
  readonly busyWorkers: number;
  /** Of the last requests, how many had waited so long for the limiter that the log says so. */
  readonly throttledShare: number;
}

export type Constraint = "limiter" | "server" | "workers" | "none";

/** How long the end of a storm is looked at in the log, which does not keep all of it. */
const sampleMs = 60_000;

/** Answers take a little longer than the queue shows: a request of each worker is under way. */
const settleMs = 2_000;

/** Above this share of requests in the log the limiter is what they wait for. */
const mostRequests = 0.5;

/** A server that takes so many times longer than in quiet times is saturated. */
const saturated = 3;

/** Workers that are at it for so much of the time are all busy. */
const busy = 0.9;

export async function measureStorm(
  { client, stage }: Pick<Scene, "client" | "stage">,
  meter: StormMeter,
  { before, after }: { readonly before: QueueLook; readonly after: QueueLook },
): Promise<Storm> {
  await stage.sleep(settleMs);
  const window = meter.window(before.atMs);
  const { firstMs = before.atMs, lastMs = before.atMs, requests } = window;
  const drainMs = lastMs - firstMs;
  const work = workBetween(before, after);
  return {
    ...window,
    atMs: firstMs,
    drainMs,
    rate: drainMs === 0 ? 0 : ((requests - 1) * 1000) / drainMs,
    workMs: work.meanMs,
    busyWorkers: drainMs === 0 ? 0 : work.totalMs / drainMs,
    throttledShare: await throttledShare(client, meter, stage.now(), lastMs),
  };
}

/** Of the requests in the last part of the storm. */
async function throttledShare(
  client: Scene["client"],
  meter: StormMeter,
  nowMs: number,
  lastMs: number,
): Promise<number> {
  const sinceMs = nowMs - lastMs + sampleMs;
  const { requests } = meter.window(nowMs - sinceMs);
  const lines = (await loggedWaits(client, sinceMs))?.count ?? 0;
  return requests === 0 ? 0 : Math.min(1, lines / requests);
}

/** `quietServerMs` is how long the server took over a PUT when nothing else went on. */
export function constraintOf(
  { requests, throttledShare: share, busyWorkers, meanServerMs }: Storm,
  { workers, quietServerMs }: { readonly workers: number; readonly quietServerMs: number },
): Constraint {
  if (requests === 0) return "none";
  if (share > mostRequests) return "limiter";
  if (busyWorkers < busy * workers) return "none";
  return meanServerMs > saturated * quietServerMs ? "server" : "workers";
}

export interface StormWindow {
  /** PUTs of Endpoints by the endpoints controller. */
  readonly requests: number;
  /** Different objects among them. */
  readonly keys: number;
  /** Changes of Endpoints that a watcher heard of. */
  readonly events: number;
  /** When the first and the last of the requests were answered; undefined without any. */
  readonly firstMs: number | undefined;
  readonly lastMs: number | undefined;
  /** How long the server took over one, on average. */
  readonly meanServerMs: number;
}

interface Written {
  readonly atMs: number;
  readonly key: string;
  readonly serverMs: number;
}

/** How the controller's own client calls itself, after the name of its program. */
const controllerName = "/endpoint-controller";

export class StormMeter {
  readonly #now: () => number;
  readonly #written: Written[] = [];
  readonly #heardAtMs: number[] = [];

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

  /** A watcher heard of a new version of some Endpoints. */
  heard(): void {
    this.#heardAtMs.push(this.#now());
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
        firstAtOrAfter(this.#heardAtMs, (atMs) => atMs, toMs) -
        firstAtOrAfter(this.#heardAtMs, (atMs) => atMs, fromMs),
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
