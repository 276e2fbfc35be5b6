// The counters of one reflector. Adding to a Prometheus counter costs as much as projecting a pod,
// so what happens per event is added up here and handed on once per chunk.
import type { Counter, Registry } from "prom-client";
import {
  type MeasuredSource,
  type ReflectorMetrics,
  reflectorMetrics,
  type SourceLabels,
} from "./reflector-metrics.ts";
import type { ListReason } from "./reflector-state.ts";

const knownTypes: ReadonlySet<string> = new Set(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]);

export class ReflectorCounts {
  readonly #metrics: ReflectorMetrics;
  readonly #labels: { cluster: string; resource: string };
  /** Events since the last chunk, by type; bounded because unknown types share one entry. */
  readonly #events = new Map<string, number>();

  constructor(registry: Registry, labels: SourceLabels) {
    this.#metrics = reflectorMetrics(registry);
    this.#labels = { ...labels };
  }

  /** The gauges show this source until the returned function is called. */
  show(source: Pick<MeasuredSource, "clock" | "freshness">): () => void {
    const measured: MeasuredSource = { ...source, labels: this.#labels };
    this.#metrics.sources.add(measured);
    // Shown from the start: an alert on its increase would not see the first one.
    this.#metrics.doubtedLists.inc(this.#labels, 0);
    return () => void this.#metrics.sources.delete(measured);
  }

  listed(): void {
    this.#metrics.lists.inc(this.#labels);
  }

  doubtedList(): void {
    this.#one(this.#metrics.doubtedLists);
  }

  page(bytes: number): void {
    this.#metrics.pages.inc(this.#labels);
    this.#metrics.bytes.inc(this.#labels, bytes);
  }

  relisted(reason: ListReason): void {
    this.#metrics.relists.inc({ ...this.#labels, reason });
  }

  watchOpened(): void {
    this.#metrics.watches.inc(this.#labels);
  }

  event(type: string): void {
    const label = knownTypes.has(type) ? type : "other";
    this.#events.set(label, (this.#events.get(label) ?? 0) + 1);
  }

  /** One chunk of a watch has been handled. */
  chunk(bytes: number, decodeMs: number): void {
    this.#metrics.bytes.inc(this.#labels, bytes);
    this.decoded(decodeMs);
    for (const [type, count] of this.#events) {
      this.#metrics.events.inc({ ...this.#labels, type }, count);
    }
    this.#events.clear();
  }

  decoded(ms: number): void {
    this.#metrics.decodeSeconds.inc(this.#labels, ms / 1000);
  }

  handlerFailed(): void {
    this.#one(this.#metrics.handlerFailures);
  }

  malformed(): void {
    this.#one(this.#metrics.malformed);
  }

  quorumRead(result: "reached" | "unreached" | "rewound" | "refused" | "failed"): void {
    this.#metrics.quorumReads.inc({ ...this.#labels, result });
  }

  #one(counter: Counter<"cluster" | "resource">): void {
    counter.inc(this.#labels);
  }
}
