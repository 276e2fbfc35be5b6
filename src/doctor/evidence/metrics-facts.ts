// Metrics pages by the process that they are of. Counters mean something as differences, so the first
// and the last page of a process are compared; a single page is compared with the start of its process,
// when all counters were zero. A saved page is the text that the process answered with, below a comment
// with the time: `# read at 2026-11-18T13:05:00Z`. Without a time there are means and no rates.
import type { MetricsEvidence } from "./evidence.ts";
import type { MetricsPage } from "./metrics-window.ts";
import { type MetricSample, parsePrometheusLine, parsePrometheusText } from "./prometheus-text.ts";

export interface MetricsText {
  /** The program it is of, where the reader knows it: `kube-controller-manager`. */
  readonly component?: string | undefined;
  /** The process, or the file without its number; by the start time of the process unless given. */
  readonly process?: string | undefined;
  /** An address or a file, for a page without a process. */
  readonly source?: string;
  /** NaN when it is unknown. */
  readonly atMs: number;
  readonly text: string;
}

/** Replicas of a few programs. */
const processesMax = 100;

/** A large API server answers with some 200,000 lines, most of them buckets. */
const samplesMax = 1_000_000;

const timeLine = /^# read at (\d{4}-\d\d-\d\dT[\d:.]+Z)\s*$/;
const pageStart = /^# (?:HELP|TYPE) [a-zA-Z_:]/;
const savedPath = /([^/]+)\/([^/]+)-\d+\.txt$/;

/** Metrics that only one program has, old and new names. */
const componentForms: readonly (readonly [component: string, form: RegExp])[] = [
  [
    "kube-apiserver",
    /^apiserver_(?:storage_objects|current_inflight_requests|registered_watchers)$/,
  ],
  ["kube-apiserver", /^(?:etcd_object_counts|apiserver_request_count)$/],
  [
    "kube-controller-manager",
    /^(?:node_collector_|endpoint_slice_controller_|replicaset_controller_)/,
  ],
  ["kube-controller-manager", /^(?:endpoint|service|node_lifecycle_controller)_depth$/],
  ["etcd", /^etcd_server_has_leader$/],
  ["kubelet", /^kubelet_(?:running_pod|pleg_|pod_worker)/],
  ["kube-proxy", /^kubeproxy_/],
  ["ingress-nginx", /^nginx_ingress_controller_/],
];

interface Process {
  component: string;
  readonly source: string;
  pages: MetricsPage[];
}

export class MetricsFacts {
  readonly #processes = new Map<string, Process>();

  add({ component, process, source = "metrics", atMs, text }: MetricsText): void {
    const samples = parsePrometheusText(text, isWanted);
    this.addPage(samples, { component, process, source, atMs });
  }

  addPage(samples: readonly MetricSample[], about: Omit<MetricsText, "text">): void {
    const component = about.component ?? componentOf(samples);
    const started = samples.find(({ name }) => name === "process_start_time_seconds")?.value;
    const source = about.process ?? about.source ?? "metrics";
    const key = about.process ?? `${component} ${started ?? ""}`;
    const known = this.#processes.get(key) ?? { component, source, pages: [] };
    if (!this.#processes.has(key) && this.#processes.size >= processesMax) return;
    this.#processes.set(key, known);
    const page = { atMs: about.atMs, samples };
    // The processor time of a process only grows, so it orders pages without a time.
    known.pages = [...known.pages, page].sort((a, b) => a.atMs - b.atMs || usedOf(a) - usedOf(b));
    known.pages.splice(1, known.pages.length - 2);
  }

  /** Each with two pages; the first one is empty where there was one only. */
  get all(): readonly MetricsEvidence[] {
    return [...this.#processes.values()].map(({ component, source, pages }) => {
      const [first] = pages;
      if (first === undefined || pages.length > 1) return { component, source, pages };
      const started = first.samples.find(({ name }) => name === "process_start_time_seconds");
      const start = { atMs: (started?.value ?? Number.NaN) * 1000, samples: [] };
      return { component, source: `${source}, since the process started`, pages: [start, first] };
    });
  }
}

function usedOf({ samples }: MetricsPage): number {
  return samples.find(({ name }) => name === "process_cpu_seconds_total")?.value ?? 0;
}

function componentOf(samples: readonly MetricSample[]): string {
  for (const [component, form] of componentForms) {
    if (samples.some(({ name }) => form.test(name))) return component;
  }
  const queue = samples.some(
    ({ name, labels }) => name === "workqueue_depth" && labels.get("name") === "endpoint_slice",
  );
  return queue ? "kube-controller-manager" : "unknown";
}

/** Buckets are most of a page, and no cause reads them. */
function isWanted(name: string): boolean {
  return !name.endsWith("_bucket");
}

/** The first line of a saved page. */
export function metricsTimeLine(atMs: number): string {
  return `# read at ${new Date(atMs).toISOString()}`;
}

/** The page that the first line and the path describe; undefined when the file is none. */
export function savedMetrics(
  path: string,
  firstLine: string,
): Omit<MetricsText, "text"> | undefined {
  const time = timeLine.exec(firstLine)?.[1];
  if (time === undefined && !pageStart.test(firstLine)) return undefined;
  const atMs = Date.parse(time ?? "");
  const [, component, name] = savedPath.exec(path) ?? [];
  if (time === undefined || component === undefined || name === undefined) {
    return { source: path, atMs };
  }
  return { component, process: path.slice(0, path.lastIndexOf("/") + 1) + name, atMs };
}

/** Takes the lines of one page; the text is not kept. */
export class MetricsPageReader {
  readonly #about: Omit<MetricsText, "text">;
  readonly #samples: MetricSample[] = [];

  constructor(about: Omit<MetricsText, "text">) {
    this.#about = about;
  }

  push(lines: Iterable<string>): void {
    for (const line of lines) {
      const sample = parsePrometheusLine(line);
      if (sample === undefined || !isWanted(sample.name)) continue;
      if (this.#samples.length < samplesMax) this.#samples.push(sample);
    }
  }

  end(metrics: MetricsFacts): void {
    metrics.addPage(this.#samples, this.#about);
  }
}
