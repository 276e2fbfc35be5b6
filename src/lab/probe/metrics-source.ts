// Where the metrics of a controller manager are read: over HTTP, as a monitoring system reads them, or
// from its registry in this process, which is much quicker in virtual time.
import type { Registry } from "prom-client";
import { type MetricSample, parsePrometheusText } from "../../doctor/evidence/prometheus-text.ts";
import type { Environment } from "../../environment/environment.ts";
import { NetworkError } from "../../environment/network.ts";

export interface MetricsSource {
  /** All samples of these metrics; undefined while the process does not listen. */
  read(metrics: readonly string[]): Promise<readonly MetricSample[] | undefined>;
}

export interface MetricsPageOptions extends Pick<Environment, "network"> {
  /** Undefined while the process starts. */
  readonly url: () => string | undefined;
  readonly signal?: AbortSignal;
}

export function httpMetrics(options: MetricsPageOptions): MetricsSource {
  return {
    read: async (metrics) => {
      const page = await readMetricsPage(options);
      const isWanted = (name: string) => metrics.includes(name.replace(/_(sum|count|bucket)$/, ""));
      return page === undefined
        ? undefined
        : parsePrometheusText(page, (name) => metrics.includes(name) || isWanted(name));
    },
  };
}

/** The whole page as text; undefined while the process does not listen. */
export async function readMetricsPage({
  network,
  url,
  signal,
}: MetricsPageOptions): Promise<string | undefined> {
  const page = url();
  if (page === undefined) return undefined;
  try {
    const { body } = await network.request({ method: "GET", url: page, ...(signal && { signal }) });
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    return Buffer.concat(chunks).toString("utf8");
  } catch (error) {
    if (error instanceof NetworkError) return undefined;
    throw error;
  }
}

export function registryMetrics(registry: Registry): MetricsSource {
  return {
    read: async (metrics) => {
      const samples: MetricSample[] = [];
      for (const name of metrics) {
        const found = await registry.getSingleMetric(name)?.get();
        for (const value of found?.values ?? []) {
          const labels = Object.entries(value.labels).map(
            ([key, text]) => [key, String(text)] as const,
          );
          samples.push({
            name: "metricName" in value ? String(value.metricName) : name,
            labels: new Map(labels),
            value: value.value,
          });
        }
      }
      return samples;
    },
  };
}
