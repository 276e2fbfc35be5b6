// Metrics pages by the process that they are of. Counters mean something only as differences, so a
// process is evidence once it has two pages. A saved page is the text that the process answered with,
// below a comment with the time: `metrics/kube-controller-manager/POD-1.txt`, and so on.
import type { MetricsEvidence } from "./evidence.ts";
import type { MetricsPage } from "./metrics-window.ts";
import { parsePrometheusText } from "./prometheus-text.ts";

export interface MetricsText {
  /** The program it is of: `kube-controller-manager`. */
  readonly component: string;
  /** The process, or the file without its number. */
  readonly process: string;
  readonly atMs: number;
  readonly text: string;
}

/** Replicas of a few programs. */
const processesMax = 100;

/** The first and the last one are compared. */
const pagesMax = 2;

const timeLine = /^# read at (\d{4}-\d\d-\d\dT[\d:.]+Z)\s*$/;
const savedPath = /([^/]+)\/([^/]+)-\d+\.txt$/;

export class MetricsFacts {
  readonly #processes = new Map<string, { component: string; pages: MetricsPage[] }>();

  add({ component, process, atMs, text }: MetricsText): void {
    const known = this.#processes.get(process) ?? { component, pages: [] };
    if (!this.#processes.has(process) && this.#processes.size >= processesMax) return;
    this.#processes.set(process, known);
    // Buckets are most of a page, and no cause reads them.
    const samples = parsePrometheusText(text, (name) => !name.endsWith("_bucket"));
    known.pages = [...known.pages, { atMs, samples }].sort((a, b) => a.atMs - b.atMs);
    known.pages.splice(1, known.pages.length - pagesMax);
  }

  /** Processes with at least two pages. */
  get all(): readonly MetricsEvidence[] {
    return [...this.#processes]
      .filter(([, { pages }]) => pages.length > 1)
      .map(([source, { component, pages }]) => ({ component, source, pages }));
  }
}

/** The first line of a saved page. */
export function metricsTimeLine(atMs: number): string {
  return `# read at ${new Date(atMs).toISOString()}`;
}

/** Undefined when the file is no saved page. */
export function savedMetrics(
  path: string,
  firstLine: string,
): Omit<MetricsText, "text"> | undefined {
  const time = timeLine.exec(firstLine)?.[1];
  const [, component, name] = savedPath.exec(path) ?? [];
  if (time === undefined || component === undefined || name === undefined) return undefined;
  const process = path.slice(0, path.lastIndexOf("/") + 1) + name;
  return { component, process, atMs: Date.parse(time) };
}
