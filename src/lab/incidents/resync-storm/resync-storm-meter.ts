// Counts what a storm is made of, where it can be seen: the requests that the API server gets from
// the endpoints controller, as its audit log would have them, and the changes that a watcher of all
// Endpoints hears of. Bounded by the length of one play.
import type { RequestObserver } from "../../../apiserver/http/served-request.ts";

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
