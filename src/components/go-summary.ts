// A summary as Kubernetes components of before 1.14 show it: the quantiles of what was observed of
// late, and the sum and count of everything. Quantiles are of the newest values within the window,
// and NaN when there are none, as Go's client has it.
import { type LabelValues, type Registry, Summary } from "prom-client";
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";

export interface GoSummaryOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  readonly registry: Registry;
  readonly clock: Clock;
  /** How long a value counts for the quantiles. */
  readonly maxAgeMs: number;
}

/** prometheus/client_golang of that time: DefObjectives and DefMaxAge. */
const quantiles = [0.5, 0.9, 0.99];
export const defaultMaxAgeMs = 600_000;

/** Enough for a p99; a storm of observations must not fill the memory. */
const keptMax = 1_024;

const unusedLabel = "unused";

interface Series<Label extends string> {
  readonly labels: LabelValues<Label>;
  /** A ring of the newest: `next` is where the next one goes. */
  readonly kept: { readonly value: number; readonly at: MonotonicMs }[];
  next: number;
  sum: number;
  count: number;
}

export class GoSummary<Label extends string> extends Summary<string> {
  readonly #options: GoSummaryOptions<Label>;
  readonly #series = new Map<string, Series<Label>>();

  constructor(options: GoSummaryOptions<Label>) {
    const { name, help, labelNames, registry } = options;
    // Without labels the base class would keep quantiles of its own, by a clock of its own.
    super({ name, help, labelNames: [...labelNames, unusedLabel], registers: [registry] });
    this.#options = options;
    // One without labels is there before anything was observed.
    if (labelNames.length === 0) this.#seriesOf({});
  }

  record(labels: LabelValues<Label>, value: number): void {
    const series = this.#seriesOf(labels);
    series.kept[series.next] = { value, at: this.#options.clock.monotonicMs() };
    series.next = (series.next + 1) % keptMax;
    series.sum += value;
    series.count += 1;
  }

  override async get(): ReturnType<Summary["get"]> {
    const { name } = this.#options;
    const values = [...this.#series.values()].flatMap((series) => {
      const { labels, sum, count } = series;
      const sorted = this.#recent(series);
      return [
        ...quantiles.map((quantile) => ({
          labels: { ...labels, quantile },
          value: sorted[Math.ceil(quantile * sorted.length) - 1] ?? Number.NaN,
        })),
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: count },
      ];
    });
    return { ...(await super.get()), values };
  }

  #recent({ kept }: Series<Label>): readonly number[] {
    const { clock, maxAgeMs } = this.#options;
    const now = clock.monotonicMs();
    return kept
      .filter(({ at }) => elapsedMs(at, now) <= maxAgeMs)
      .map(({ value }) => value)
      .sort((one, other) => one - other);
  }

  #seriesOf(labels: LabelValues<Label>): Series<Label> {
    const key = this.#options.labelNames.map((name) => labels[name]).join("\u0000");
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const series: Series<Label> = { labels, kept: [], next: 0, sum: 0, count: 0 };
    this.#series.set(key, series);
    return series;
  }
}
