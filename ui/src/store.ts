// What the page knows, fed by one event stream. A browser reconnects by itself and resumes; where it
// gives up (the server refuses), the store asks for the state to learn why, and tries again later.
//
// Journeys are bounded: those in flight stay, of the others the oldest go first.
import { useSyncExternalStore } from "react";
import type { Journey, JourneyBatch, PointsBatch, Reset, State } from "../../src/server/api.ts";
import { ApiError, apiPath, get } from "./api.ts";
import { isInFlight } from "./journey-path.ts";

export type Connection =
  | { readonly type: "connecting" }
  | { readonly type: "live" }
  /** The connection is open, and nothing came for a while. */
  | { readonly type: "silent"; readonly since: number }
  | { readonly type: "disconnected"; readonly since: number }
  | { readonly type: "refused"; readonly status: number; readonly detail: string };

export interface Known {
  readonly connection: Connection;
  readonly state: State | undefined;
  /** Newest first. */
  readonly journeys: readonly Journey[];
  /** Counts up when the answer of that name is to be read again. */
  readonly revisions: Readonly<Record<"journeys" | "doctor" | "incident" | "all", number>>;
  /** The server's clock minus this machine's, by the state that took least time to arrive. */
  readonly clockOffsetMs: number;
}

/** More than a page of the list and a busy minute need. */
const journeysMax = 1_000;
/** The server sends a state every 10 s at least, so two of them are missing. */
const silentMs = 25_000;
/** A server that refuses is asked again, slowly: an operator may mend it. */
const refusedRetryMs = 5_000;

/** A state is seconds old at most, so a greater step means that a clock was set. */
const clockSetMs = 15_000;

export type PointsListener = (batch: PointsBatch) => void;

export class PageStore {
  #known: Known = {
    connection: { type: "connecting" },
    state: undefined,
    journeys: [],
    revisions: { journeys: 0, doctor: 0, incident: 0, all: 0 },
    clockOffsetMs: 0,
  };
  readonly #journeys = new Map<string, Journey>();
  readonly #listeners = new Set<() => void>();
  readonly #pointsListeners = new Set<PointsListener>();
  #source: EventSource | undefined;
  #receivedAt = Date.now();
  #timer: ReturnType<typeof setInterval> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly known = (): Known => this.#known;

  onPoints(listener: PointsListener): () => void {
    this.#pointsListeners.add(listener);
    return () => this.#pointsListeners.delete(listener);
  }

  start(): () => void {
    this.#open();
    this.#timer = setInterval(() => this.#checkSilence(), 1_000);
    return () => {
      clearInterval(this.#timer);
      clearTimeout(this.#retry);
      this.#source?.close();
    };
  }

  #open(): void {
    const source = new EventSource(apiPath("events"));
    this.#source = source;
    source.onopen = () => this.#received();
    source.onerror = () => this.#failed(source);
    this.#on<Reset>("reset", ({ state, journeys }) => {
      this.#journeys.clear();
      this.#add(journeys);
      const { revisions } = this.#known;
      this.#change({
        state,
        clockOffsetMs: state.at - Date.now(),
        journeys: this.#sorted(),
        revisions: { ...revisions, all: revisions.all + 1 },
      });
    });
    this.#on<State>("state", (state) => this.#change(this.#withState(state)));
    this.#on<JourneyBatch>("journeys", ({ journeys, leftOut }) => {
      this.#add(journeys);
      this.#change({ journeys: this.#sorted() });
      if (leftOut > 0) this.#revise("journeys");
    });
    this.#on<PointsBatch>("points", (batch) => {
      for (const listener of this.#pointsListeners) listener(batch);
    });
    this.#on("doctor", () => this.#revise("doctor"));
    this.#on("incident", () => this.#revise("incident"));
  }

  #on<Data>(type: string, handle: (data: Data) => void): void {
    this.#source?.addEventListener(type, (event: MessageEvent<string>) => {
      this.#received();
      handle((event.data === "" ? null : JSON.parse(event.data)) as Data);
    });
  }

  #received(): void {
    this.#receivedAt = Date.now();
    if (this.#known.connection.type !== "live") this.#change({ connection: { type: "live" } });
  }

  #failed(source: EventSource): void {
    if (this.#known.connection.type !== "disconnected") {
      this.#change({ connection: { type: "disconnected", since: Date.now() } });
    }
    // Otherwise the browser tries again by itself, with the id of the last event.
    if (source.readyState !== EventSource.CLOSED) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#open(), refusedRetryMs);
    get<State>("state").then(
      () => undefined,
      (error: unknown) => {
        if (!(error instanceof ApiError) || error.status === 0) return;
        const { status, message } = error;
        this.#change({ connection: { type: "refused", status, detail: message } });
      },
    );
  }

  #checkSilence(): void {
    const { type } = this.#known.connection;
    if (type === "live" && Date.now() - this.#receivedAt >= silentMs) {
      this.#change({ connection: { type: "silent", since: this.#receivedAt } });
    }
  }

  #withState(state: State): Partial<Known> {
    const measured = state.at - Date.now();
    const known = this.#known.clockOffsetMs;
    const isSet = measured < known - clockSetMs;
    return { state, clockOffsetMs: isSet ? measured : Math.max(measured, known) };
  }

  #add(journeys: readonly Journey[]): void {
    for (const journey of journeys) this.#journeys.set(journey.id, journey);
  }

  #sorted(): readonly Journey[] {
    const sorted = [...this.#journeys.values()].sort(newestFirst);
    if (sorted.length <= journeysMax) return sorted;
    const over = sorted.filter((journey) => !isInFlight(journey));
    const kept = [...sorted.filter(isInFlight), ...over].slice(0, journeysMax);
    this.#journeys.clear();
    this.#add(kept);
    return kept.sort(newestFirst);
  }

  #revise(name: "journeys" | "doctor" | "incident"): void {
    const { revisions } = this.#known;
    this.#change({ revisions: { ...revisions, [name]: revisions[name] + 1 } });
  }

  #change(part: Partial<Known>): void {
    this.#known = { ...this.#known, ...part };
    for (const listener of this.#listeners) listener();
  }
}

export function newestFirst(a: Journey, b: Journey): number {
  return b.originMs - a.originMs || (a.id < b.id ? 1 : -1);
}

export const store = new PageStore();

export function useKnown(): Known {
  return useSyncExternalStore(store.subscribe, store.known);
}
