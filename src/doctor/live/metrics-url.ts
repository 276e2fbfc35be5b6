// Metrics from an address: of a /metrics page, or of a Prometheus, which is asked for the few metrics that
// causes and charts read. The doctor takes two looks, the charts of the page one after the other.
import type { Clock } from "../../environment/clock.ts";
import { type Network, NetworkError } from "../../environment/network.ts";
import type { Timers } from "../../environment/timers.ts";
import { Deadline } from "../../kube/client/deadline.ts";
import { readBounded } from "../../kube/client/http-client-body.ts";
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import type { MetricsFacts } from "../evidence/metrics-facts.ts";
import { type MetricSample, parsePrometheusText } from "../evidence/prometheus-text.ts";

export interface MetricsAccess {
  readonly network: Pick<Network, "request">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly signal: AbortSignal;
}

export interface MetricsUrlOptions extends MetricsAccess {
  readonly metrics: MetricsFacts;
  /** Between the two looks. */
  readonly forMs: number;
}

/** The samples of one process at one time. */
export interface MetricsLook {
  /** The address, or for a Prometheus the address with job and instance. */
  readonly process: string;
  readonly component?: string | undefined;
  readonly samples: readonly MetricSample[];
}

/** The page of a large API server. */
const answerBytesMax = 67_108_864;

const deadlineMs = 30_000;

/** Of old and of new versions. */
const wantedMetrics = [
  "workqueue_depth",
  "workqueue_(queue|work)_duration_seconds_(sum|count)",
  "endpoint(_slice|_slice_mirroring)?_depth",
  "endpoint(_slice|_slice_mirroring)?_(work_duration|queue_latency)_(sum|count)",
  "rest_client_(rate_limiter|request)_duration_seconds_(sum|count)",
  "rest_client_request_latency_seconds_(sum|count)",
  "rest_client_requests_total",
  "lockstep_sync_noop_writes_total",
  "process_(start_time|cpu)_seconds(_total)?",
];

const isSeen = new RegExp(`^(?:${wantedMetrics.join("|")})$`);

const components = ["kube-controller-manager", "kube-apiserver", "kubelet", "kube-proxy", "etcd"];

/** Returns a sentence when nothing could be read. Rejects only when the signal aborts. */
export async function readMetricsUrl(
  options: MetricsUrlOptions,
  url: string,
): Promise<string | undefined> {
  try {
    await (isMetricsPage(url) ? readPage(options, url) : askPrometheus(options, url));
    return undefined;
  } catch (error) {
    return metricsProblem(options, url, error);
  }
}

/** The address of a page, not of a Prometheus. */
export function isMetricsPage(url: string): boolean {
  return /\/metrics(?:\?|$)/.test(url);
}

/** Only errors of the exchange; others are mistakes of the program. */
function metricsProblem({ signal }: MetricsAccess, url: string, error: unknown): string {
  signal.throwIfAborted();
  if (!(error instanceof NetworkError) && !(error instanceof MetricsUrlError)) throw error;
  return `${url}: ${error.message.replace(/\.$/, "")}.`;
}

/** One look at a page or a Prometheus; a sentence when nothing could be read. */
export async function lookAtMetrics(
  access: MetricsAccess,
  url: string,
): Promise<readonly MetricsLook[] | string> {
  try {
    if (!isMetricsPage(url)) return await prometheusLooks(access, url, access.clock.wallMs());
    const samples = parsePrometheusText(await get(access, url), (name) => isSeen.test(name));
    return [{ process: url, samples }];
  } catch (error) {
    return metricsProblem(access, url, error);
  }
}

class MetricsUrlError extends Error {
  override readonly name = "MetricsUrlError";
  readonly code = "METRICS_URL";
}

async function readPage(options: MetricsUrlOptions, url: string): Promise<void> {
  const { clock, timers, signal, metrics, forMs } = options;
  const read = async (): Promise<void> => {
    const text = await get(options, url);
    metrics.add({ source: url, atMs: clock.wallMs(), text });
  };
  await read();
  await timers.sleep(forMs, signal);
  await read();
}

async function askPrometheus(options: MetricsUrlOptions, url: string): Promise<void> {
  const nowMs = options.clock.wallMs();
  let found = 0;
  for (const atMs of [nowMs - options.forMs, nowMs]) {
    for (const { samples, component, process } of await prometheusLooks(options, url, atMs)) {
      options.metrics.addPage(samples, { component, process, atMs });
      found += samples.length;
    }
  }
  if (found === 0) throw new MetricsUrlError("this Prometheus has none of the metrics");
}

async function prometheusLooks(
  access: MetricsAccess,
  url: string,
  atMs: number,
): Promise<readonly MetricsLook[]> {
  const query = `{__name__=~"${wantedMetrics.join("|")}"}`;
  const search = new URLSearchParams({ query, time: String(atMs / 1000) });
  const answer = await get(access, `${url.replace(/\/+$/, "")}/api/v1/query?${search}`);
  return [...samplesByInstance(answer)].map(([instance, samples]) => ({
    process: `${url} ${instance}`,
    component: components.find((name) => instance.includes(name.replace(/^kube-/, ""))),
    samples,
  }));
}

/** By job and instance. */
function samplesByInstance(answer: string): ReadonlyMap<string, MetricSample[]> {
  const groups = new Map<string, MetricSample[]>();
  for (const { metric, value } of vectorIn(answer)) {
    const labels = new Map(Object.entries(isRecord(metric) ? metric : {}).filter(isTextPair));
    const number = Number(Array.isArray(value) ? value[1] : Number.NaN);
    const name = labels.get("__name__");
    if (name === undefined || Number.isNaN(number)) continue;
    const instance = `${labels.get("job") ?? ""} ${labels.get("instance") ?? ""}`;
    const group = groups.get(instance) ?? [];
    groups.set(instance, group);
    for (const own of ["__name__", "job", "instance"]) labels.delete(own);
    group.push({ name, labels, value: number });
  }
  return groups;
}

function isTextPair(pair: [string, unknown]): pair is [string, string] {
  return typeof pair[1] === "string";
}

function vectorIn(answer: string): readonly RawRecord[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(answer);
  } catch {
    throw new MetricsUrlError("the answer is neither a metrics page nor of a Prometheus");
  }
  const data = isRecord(parsed) ? parsed["data"] : undefined;
  const result = isRecord(data) ? data["result"] : undefined;
  if (!Array.isArray(result)) throw new MetricsUrlError("the answer is not of a Prometheus");
  return result.filter(isRecord);
}

async function get(options: MetricsAccess, url: string): Promise<string> {
  const { network, timers, signal } = options;
  const deadline = new Deadline({ timers, deadlineMs, signal, what: "the metrics" });
  try {
    const answer = await network.request({ method: "GET", url, signal: deadline.signal });
    const body = await readBounded(answer.body, answerBytesMax, "the metrics", "fail");
    if (answer.status !== 200) throw new MetricsUrlError(`the answer is ${answer.status}`);
    return body.toString("utf8");
  } finally {
    deadline.release();
  }
}
