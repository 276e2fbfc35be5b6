// Gathers for the doctor what anybody with access to the cluster could: two looks at the controller
// manager's metrics, its log through the API server, and the journeys that were observed.

import type { MetricsPage } from "../../../doctor/evidence/metrics-window.ts";
import { parsePrometheusText } from "../../../doctor/evidence/prometheus-text.ts";
import type { Finding } from "../../../doctor/finding.ts";
import { clientThrottling } from "../../../doctor/rules/client-throttling.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
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
  readonly #pages: MetricsPage[] = [];

  constructor(options: ExaminationOptions) {
    this.#options = options;
  }

  /** One more look at the metrics; undefined until two looks, the log and the journeys agree. */
  async look(): Promise<Finding | undefined> {
    const { clock, pod, journeys } = this.#options;
    const url = this.#options.metricsUrl();
    if (url === undefined) return undefined;
    const text = await this.#read(url);
    this.#pages.push({ atMs: clock.monotonicMs(), samples: parsePrometheusText(text) });
    if (this.#pages.length < 2) return undefined;
    return clientThrottling({
      logs: [{ component, source: pod, lines: await this.#log() }],
      metrics: [{ component, source: url, pages: this.#pages }],
      journeys: {
        source: "journeys observed in this run",
        journeys: journeys(),
        nowMs: clock.monotonicMs(),
      },
    });
  }

  async #log(): Promise<readonly string[]> {
    const { client, pod } = this.#options;
    const [namespace = "", name = ""] = pod.split("/");
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/log?tailLines=${logLines}`;
    const limits = { deadlineMs: requestDeadlineMs };
    const { body } = await client.request({ verb: "get", method: "GET", path, ...limits });
    return body.toString("utf8").split("\n");
  }

  async #read(url: string): Promise<string> {
    const response = await this.#options.network.request({ method: "GET", url });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    return Buffer.concat(chunks).toString("utf8");
  }
}
