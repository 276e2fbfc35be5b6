// The clusters, published forms and namespaces of a recording without such a header (older versions
// of `lockstep record`). It reads each line once.
import type { PublishedForm } from "../sources/published-form.ts";
import type { RecordingLine } from "./recording-line.ts";
import type { WatchedRun } from "./watched-run.ts";

/** Rubbish could name any number of them. */
const namesMax = 10_000;

export class RecordingSurvey {
  readonly #forms = new Map<string, PublishedForm>();
  readonly #namespaces = new Set<string>();

  take(line: RecordingLine): void {
    if (line.type !== "listed" && line.type !== "change") return;
    const { cluster, kind } = line;
    if (this.#forms.size < namesMax && !this.#forms.has(cluster)) {
      this.#forms.set(cluster, "endpointslices");
    }
    if (kind === "Endpoints" && this.#forms.has(cluster)) this.#forms.set(cluster, "endpoints");
    if (line.type !== "listed" || line.namespace === undefined) return;
    if (this.#namespaces.size < namesMax) this.#namespaces.add(line.namespace);
  }

  formOf(cluster: string): PublishedForm {
    return this.#forms.get(cluster) ?? "endpointslices";
  }

  /** As if `lockstep watch` had observed the same clusters from then on. */
  watchedRun(atMs: number): WatchedRun {
    const names = [...this.#forms.keys()];
    return {
      monotonicMs: 0,
      wallMs: atMs,
      clusters: names.map((cluster) => ({
        cluster,
        aliases: [],
        isBusiness: true,
        isAccess: true,
      })),
      namespaces: this.#namespaces.size === 0 ? undefined : [...this.#namespaces],
      services: undefined,
      nodes: true,
      asked: { copies: false, proxies: false, logs: false },
    };
  }
}
