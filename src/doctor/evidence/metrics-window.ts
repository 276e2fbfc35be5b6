// The difference between two reads of the same metrics page. Counters only mean something as
// differences; a series that went down was restarted and counts from zero.
import type { MetricSample } from "./prometheus-text.ts";

export interface MetricsPage {
  /** When it was read, by any one clock. */
  readonly atMs: number;
  readonly samples: readonly MetricSample[];
}

export type LabelFilter = Readonly<Record<string, string>>;

export class MetricsWindow {
  readonly seconds: number;
  readonly #earlier: ReadonlyMap<string, number>;
  readonly #later: readonly MetricSample[];

  constructor(earlier: MetricsPage, later: MetricsPage) {
    this.seconds = (later.atMs - earlier.atMs) / 1000;
    this.#earlier = new Map(earlier.samples.map((sample) => [seriesKey(sample), sample.value]));
    this.#later = later.samples;
  }

  /** Over all series of the name with these labels; undefined when there is none. */
  increase(name: string, labels: LabelFilter = {}): number | undefined {
    return sum(
      this.#select(name, labels).map((sample) => {
        const before = this.#earlier.get(seriesKey(sample)) ?? 0;
        return sample.value < before ? sample.value : sample.value - before;
      }),
    );
  }

  /** Of a gauge, as it was at the later look. */
  value(name: string, labels: LabelFilter = {}): number | undefined {
    return sum(this.#select(name, labels).map(({ value }) => value));
  }

  #select(name: string, labels: LabelFilter): readonly MetricSample[] {
    const wanted = Object.entries(labels);
    return this.#later.filter(
      (sample) =>
        sample.name === name && wanted.every(([key, value]) => sample.labels.get(key) === value),
    );
  }
}

function sum(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((total, value) => total + value, 0);
}

function seriesKey({ name, labels }: MetricSample): string {
  const pairs = [...labels].map(([key, value]) => `${key}=${JSON.stringify(value)}`).sort();
  return `${name}{${pairs.join(",")}}`;
}
