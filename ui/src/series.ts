// The series of the charts: read once, then continued by the points of the event stream. All views
// share one copy, which holds the last hour.
import { useSyncExternalStore } from "react";
import type { PointsBatch, SeriesAnswer } from "../../src/server/api.ts";
import { ApiError, get } from "./api.ts";
import { continued } from "./series-points.ts";
import { store } from "./store.ts";

export interface KnownSeries {
  readonly answer: SeriesAnswer | undefined;
  readonly error: ApiError | undefined;
}

class SeriesStore {
  #known: KnownSeries = { answer: undefined, error: undefined };
  readonly #listeners = new Set<() => void>();
  #revision = -1;
  #isReading = false;
  #isStarted = false;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    this.#start();
    return () => this.#listeners.delete(listener);
  };

  readonly known = (): KnownSeries => this.#known;

  /** At the first view that needs them; later ones find them ready. */
  #start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    store.onPoints((batch) => this.#add(batch));
    // After a reset points may be missing in between.
    store.subscribe(() => this.#readIfReset());
    this.#readIfReset();
    if (this.#revision === 0) void this.#read();
  }

  #readIfReset(): void {
    const { all } = store.known().revisions;
    if (all === this.#revision) return;
    this.#revision = all;
    if (all > 0) void this.#read();
  }

  async #read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      this.#change({ answer: await get<SeriesAnswer>("series"), error: undefined });
    } catch (error) {
      if (error instanceof ApiError) this.#change({ answer: this.#known.answer, error });
    } finally {
      this.#isReading = false;
    }
  }

  #add(batch: PointsBatch): void {
    const { answer } = this.#known;
    if (answer === undefined) return;
    const known = new Set(answer.series.map(({ id }) => id));
    if (Object.keys(batch.values).some((id) => !known.has(id))) void this.#read();
    else
      this.#change({
        answer: { ...answer, series: [...continued(answer.series, batch)] },
        error: undefined,
      });
  }

  #change(known: KnownSeries): void {
    this.#known = known;
    for (const listener of this.#listeners) listener();
  }
}

const seriesStore = new SeriesStore();

export function useSeries(): KnownSeries {
  return useSyncExternalStore(seriesStore.subscribe, seriesStore.known);
}
