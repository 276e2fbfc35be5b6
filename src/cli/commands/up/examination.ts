// Collects the evidence for the doctor that any user of the cluster can read: metrics of the
// controller manager, its log, and the observed changes. Only what happened since its start counts: an
// earlier release in the same clusters had a cause of its own, which a fix may have removed.
import { weigh } from "../../../doctor/cause.ts";
import { evidenceOf } from "../../../doctor/evidence/evidence.ts";
import type { MetricsPage } from "../../../doctor/evidence/metrics-window.ts";
import { parsePrometheusText } from "../../../doctor/evidence/prometheus-text.ts";
import type { Finding } from "../../../doctor/finding.ts";
import { clientThrottling } from "../../../doctor/rules/client-throttling.ts";
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { readMetricsPage } from "../../../lab/probe/metrics-source.ts";
import type { Journey } from "../../../timeline/journey.ts";

export interface ExaminationOptions extends Pick<Environment, "clock" | "network"> {
  readonly client: KubeClient;
  /** The controller manager's pod, `namespace/name`. */
  readonly pod: string;
  readonly metricsUrl: () => string | undefined;
  readonly journeys: () => readonly Journey[];
}

const component = "kube-controller-manager";
const requestDeadlineMs = 10_000;
const logLines = 2_000;

export class Examination {
  readonly #options: ExaminationOptions;
  readonly #startedAt: MonotonicMs;
  readonly #pages: MetricsPage[] = [];

  constructor(options: ExaminationOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonicMs();
  }

  /** Reads the metrics again; undefined until two reads, the log and the changes agree. */
  async look(): Promise<Finding | undefined> {
    const { clock, pod, journeys } = this.#options;
    const url = this.#options.metricsUrl();
    const text = await readMetricsPage({ network: this.#options.network, url: () => url });
    if (url === undefined || text === undefined) return undefined;
    this.#pages.push({ atMs: clock.monotonicMs(), samples: parsePrometheusText(text) });
    if (this.#pages.length < 2) return undefined;
    return weigh(
      clientThrottling,
      evidenceOf({
        logs: [{ component, source: pod, lines: await this.#log() }],
        metrics: [{ component, source: url, pages: this.#pages }],
        journeys: {
          source: "journeys observed in this run",
          journeys: journeys().filter(({ origin }) => origin.at >= this.#startedAt),
          nowMs: clock.monotonicMs(),
        },
      }),
    );
  }

  async #log(): Promise<readonly string[]> {
    const { client, clock, pod } = this.#options;
    const [namespace = "", name = ""] = pod.split("/");
    const seconds = Math.floor(elapsedMs(this.#startedAt, clock.monotonicMs()) / 1_000);
    // An API server refuses 0.
    if (seconds < 1) return [];
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/log?tailLines=${logLines}&sinceSeconds=${seconds}`;
    const limits = { deadlineMs: requestDeadlineMs };
    const { body } = await client.request({ verb: "get", method: "GET", path, ...limits });
    return body.toString("utf8").split("\n");
  }
}
