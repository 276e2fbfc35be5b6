// Reads the metrics pages of a live cluster: of the API server, and of controller managers through the
// proxy of their pods. Each page is read before and after the samples, so that counters show rates.
import type { Clock } from "../../environment/clock.ts";
import type { ComponentPod } from "./component-pods.ts";
import type { Gathered } from "./gathered.ts";
import type { LiveReader } from "./live-reader.ts";

export interface MetricsReaderOptions {
  readonly reader: LiveReader;
  readonly gathered: Gathered;
  readonly clock: Clock;
}

interface Page {
  /** `kube-controller-manager/POD`. */
  readonly process: string;
  /** As a permission names it. */
  readonly resource: string;
  /** The likeliest first; one once it answered, none when none did. */
  paths: readonly string[];
}

/** The server that the context leads to; which of several it is cannot be seen. */
const serverPage = { process: "kube-apiserver/reached", resource: "/metrics", paths: ["/metrics"] };

/** Through the proxy of the pod, the likeliest first. */
export function metricsPaths({
  namespace,
  name,
  metricsPorts,
}: Pick<ComponentPod, "namespace" | "name" | "metricsPorts">): string[] {
  return metricsPorts.map((place) => {
    const [scheme = "", port = ""] = place.split(":");
    const pod = encodeURIComponent(`${scheme}:${name}:${port}`);
    return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${pod}/proxy/metrics`;
  });
}

export class MetricsReader {
  readonly #options: MetricsReaderOptions;
  readonly #pages: Page[];
  #reads = 0;

  constructor(options: MetricsReaderOptions, components: readonly ComponentPod[]) {
    this.#options = options;
    const managers = components.flatMap((component) => {
      const { program, name } = component;
      const paths = metricsPaths(component);
      return paths.length === 0
        ? []
        : [{ process: `${program}/${name}`, resource: "pods/proxy", paths }];
    });
    this.#pages = [{ ...serverPage }, ...managers];
  }

  /** Call it at least twice. */
  async read(): Promise<void> {
    const { reader, gathered, clock } = this.#options;
    this.#reads += 1;
    for (const page of this.#pages) {
      if (page.paths.length === 0) continue;
      const found = await reader.firstText(page.resource, page.paths);
      page.paths = found === undefined ? [] : [found.path];
      if (found === undefined) continue;
      const number = this.#reads;
      await gathered.metrics(page.process, { number, atMs: clock.wallMs(), text: found.text });
    }
  }
}
