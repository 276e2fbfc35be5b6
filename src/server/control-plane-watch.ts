// Reads the control plane of one cluster over time for the charts of the page: the metrics of controller
// managers through the proxy of their pods or from given addresses, the metrics of the API server, the
// heartbeats of nodes, and the leader lock. It only reads. A part without a permission is missing, with the permission to grant.
import type { MetricsPage } from "../doctor/evidence/metrics-window.ts";
import { parsePrometheusText } from "../doctor/evidence/prometheus-text.ts";
import { type ComponentPod, componentPod } from "../doctor/live/component-pods.ts";
import { recordIn, textIn } from "../doctor/live/live-kinds.ts";
import { LiveReader } from "../doctor/live/live-reader.ts";
import { metricsPaths } from "../doctor/live/metrics-reader.ts";
import { isMetricsPage, lookAtMetrics } from "../doctor/live/metrics-url.ts";
import { defaultGraceMs } from "../doctor/rules/late-heartbeats.ts";
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import { parseGoDuration } from "../environment/go-duration.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { MalformedObjectError, type RawRecord } from "../kube/kinds/fields.ts";
import { type LeaderRecord, lockPath, readLeaderRecord } from "../kube/leader/lease-record.ts";
import {
  type ControlPlaneLook,
  controlPlaneCharts,
  type ProcessPages,
  serverMetrics,
} from "./control-plane-charts.ts";
import type { ControlPlaneCharts, SeriesValue } from "./page-source.ts";

export interface ControlPlaneWatchOptions
  extends Pick<Environment, "clock" | "timers" | "network" | "log"> {
  readonly cluster: string;
  readonly client: KubeClient;
  /** Of Kubernetes, once it is known. */
  readonly version: () => string | undefined;
  /** Pages or a Prometheus, beside the pods. */
  readonly metricsUrls: readonly string[];
}

/** A metrics page has up to some megabytes, so it is read less often than charts get a point. */
const everyMs = 10_000;

/** A Prometheus has a new value about once a minute; counters mean something over that time. */
const prometheusEveryMs = 60_000;

/** The page of an API server has more; a Prometheus reads it about as often. */
const serverEveryMs = 30_000;

/** Behind one address; each has its own counters. */
const serversMax = 8;

/** Leases of thousands of nodes have megabytes too. */
const msPerNode = 4;

/** Controller managers seldom move. */
const podsEveryMs = 300_000;

/** Values older than this are a gap. */
const keptMs = 3 * everyMs;

const managersMax = 5;
/** Tells the processes behind one address apart. */
const startTime = "process_start_time_seconds";
const manager = "kube-controller-manager";
const leaseRoot = "/apis/coordination.k8s.io/v1/namespaces";
const systemPods = "/api/v1/namespaces/kube-system/pods";

/** With the labels of kubeadm and of OpenShift. */
const podLists = [
  `${systemPods}?labelSelector=component%3D${manager}`,
  `/api/v1/namespaces/openshift-${manager}/pods?labelSelector=app%3D${manager}`,
];

interface KnownPods {
  readonly pods: readonly ComponentPod[];
  readonly at: MonotonicMs;
}

export class ControlPlaneWatch {
  readonly #options: ControlPlaneWatchOptions;
  readonly #stopping = new AbortController();
  /** The path that answered, by pod. */
  readonly #paths = new Map<string, readonly string[]>();
  #pods: KnownPods | undefined;
  /** By process. */
  #pages: ReadonlyMap<string, ProcessPages> = new Map();
  /** By address, the last time that a Prometheus was asked. */
  readonly #asked = new Map<string, { readonly at: MonotonicMs; readonly processes: string[] }>();
  /** Of API servers, by the time of their start. */
  readonly #servers = new Map<string, ProcessPages>();
  #serverAt: MonotonicMs | undefined;
  #nodes = 0;
  #lastAt: MonotonicMs | undefined;
  #series: readonly SeriesValue[] = [];
  #missing: readonly string[] = [];
  #watching: Promise<void> = Promise.resolve();

  constructor(options: ControlPlaneWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#watching = this.#watch();
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the page is closing"));
    await this.#watching;
  }

  charts(): ControlPlaneCharts {
    const { clock } = this.#options;
    const isOld =
      this.#lastAt !== undefined &&
      elapsedMs(this.#lastAt, clock.monotonicMs()) > keptMs + this.#nodes * msPerNode;
    const series = isOld ? this.#series.map((one) => ({ ...one, value: null })) : this.#series;
    return { series, missing: this.#missing };
  }

  async #watch(): Promise<void> {
    const { timers, cluster, log } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#look();
        await timers.sleep(everyMs + this.#nodes * msPerNode, signal);
      } catch (error) {
        if (signal.aborted) return;
        log.error("the charts of a control plane ended", { cluster, error });
        const why = error instanceof Error ? error.message : String(error);
        this.#missing = [`${cluster}: the charts of the control plane ended: ${why}`];
        return;
      }
    }
  }

  async #look(): Promise<void> {
    const { clock, client, cluster, version } = this.#options;
    const { signal } = this.#stopping;
    const reader = new LiveReader({ client, signal });
    const problems: string[] = [];
    const pages = new Map<string, ProcessPages>();
    const pods = await this.#managers(reader);
    for (const pod of pods) await this.#readPod(reader, pod, pages);
    await this.#readUrls(pages, problems);
    this.#pages = pages;
    await this.#readServer(reader);
    if (pages.size === 0 && pods.length === 0) problems.push(noManagers);
    const heartbeatMs = await this.#heartbeatMs(reader);
    const leader = await this.#leader(reader);
    if (leader === undefined && !reader.hasFailed("list", "leases")) problems.push(noLeader);
    const graceMs = graceMsOf(pods) ?? defaultGraceMs(version());
    const servers = [...this.#servers.values()];
    const look = { pages: [...pages.values()], servers, heartbeatMs, graceMs, leader };
    // A chart without any value yet is left out.
    this.#series = controlPlaneCharts(cluster, look).filter(
      ({ id, value }) => value !== null || this.#series.some((one) => one.id === id),
    );
    this.#lastAt = clock.monotonicMs();
    this.#missing = [...reader.problems, ...problems].map((text) => `${cluster}: ${text}`);
  }

  async #managers(reader: LiveReader): Promise<readonly ComponentPod[]> {
    const { clock } = this.#options;
    const now = clock.monotonicMs();
    const known = this.#pods;
    const isKnown = known !== undefined && known.pods.length > 0;
    if (isKnown && elapsedMs(known.at, now) < podsEveryMs) return known.pods;
    for (const path of podLists) {
      const found = (await reader.items("pods", path)) ?? [];
      const pods = found.flatMap((pod) => componentPod(pod) ?? []);
      const managers = pods.filter(({ program }) => program === manager).slice(0, managersMax);
      this.#pods = { pods: managers, at: now };
      if (managers.length > 0) break;
    }
    return this.#pods?.pods ?? [];
  }

  async #readPod(
    reader: LiveReader,
    pod: ComponentPod,
    pages: Map<string, ProcessPages>,
  ): Promise<void> {
    const paths = this.#paths.get(pod.name) ?? metricsPaths(pod);
    const found = await reader.firstText("pods/proxy", paths);
    if (found === undefined) {
      this.#paths.delete(pod.name);
      // It may have been replaced: the pods are listed again.
      this.#pods = undefined;
      return;
    }
    this.#paths.set(pod.name, [found.path]);
    const samples = parsePrometheusText(found.text, (name) => !name.endsWith("_bucket"));
    this.#add(pages, pod.name, samples);
  }

  #add(pages: Map<string, ProcessPages>, process: string, samples: MetricsPage["samples"]): void {
    const last = { atMs: this.#options.clock.wallMs(), samples };
    pages.set(process, { before: this.#pages.get(process)?.last, last });
  }

  /** Of the server that the context leads to; behind one address there may be several. */
  async #readServer(reader: LiveReader): Promise<void> {
    const { clock } = this.#options;
    const now = clock.monotonicMs();
    if (this.#serverAt !== undefined && elapsedMs(this.#serverAt, now) < serverEveryMs) return;
    const text = await reader.text("/metrics", "/metrics");
    const atMs = clock.wallMs();
    for (const [key, { last }] of this.#servers) {
      if (atMs - last.atMs > 3 * serverEveryMs) this.#servers.delete(key);
    }
    if (text === undefined) return;
    this.#serverAt = now;
    const wanted = [...serverMetrics, startTime];
    const samples = parsePrometheusText(text, (name) => wanted.includes(name));
    const key = String(samples.find(({ name }) => name === startTime)?.value);
    const before = this.#servers.get(key)?.last;
    if (before === undefined && this.#servers.size >= serversMax) return;
    this.#servers.set(key, { before, last: { atMs, samples } });
  }

  async #readUrls(pages: Map<string, ProcessPages>, problems: string[]): Promise<void> {
    const { clock, metricsUrls } = this.#options;
    const { signal } = this.#stopping;
    const access = { ...this.#options, signal };
    for (const url of metricsUrls) {
      const now = clock.monotonicMs();
      const asked = this.#asked.get(url);
      if (asked !== undefined && elapsedMs(asked.at, now) < prometheusEveryMs) {
        for (const process of asked.processes) {
          const known = this.#pages.get(process);
          if (known !== undefined) pages.set(process, known);
        }
        continue;
      }
      const looks = await lookAtMetrics(access, url);
      if (typeof looks === "string") {
        problems.push(looks);
        continue;
      }
      for (const { process, samples } of looks) this.#add(pages, process, samples);
      const processes = looks.map(({ process }) => process);
      if (!isMetricsPage(url)) this.#asked.set(url, { at: now, processes });
    }
  }

  /** Leases of nodes exist since 1.14; before that the Node itself has the heartbeat. */
  async #heartbeatMs(reader: LiveReader): Promise<number | undefined> {
    const { clock } = this.#options;
    const leases = (await reader.items("leases", `${leaseRoot}/kube-node-lease/leases`)) ?? [];
    const beats =
      leases.length > 0 || reader.hasFailed("list", "leases")
        ? leases.map((lease) => textIn(recordIn(lease, "spec"), "renewTime"))
        : ((await reader.items("nodes", "/api/v1/nodes")) ?? []).map(heartbeatOf);
    this.#nodes = beats.length;
    const ages = beats.flatMap((text) => {
      const at = Date.parse(text);
      return Number.isNaN(at) ? [] : [clock.wallMs() - at];
    });
    return ages.length === 0 ? undefined : Math.max(0, ...ages);
  }

  /** Up to 1.19 the record may be an annotation of Endpoints alone. */
  async #leader(reader: LiveReader): Promise<ControlPlaneLook["leader"]> {
    const leases = (await reader.items("leases", `${leaseRoot}/kube-system/leases`)) ?? [];
    const lease = leases.find((one) => textIn(recordIn(one, "metadata"), "name") === manager);
    return (
      this.#renewed(lease && { ...lease, kind: "Lease" }) ??
      this.#renewed(await reader.object("endpoints", lockPath(endpointsLock)))
    );
  }

  #renewed(lock: RawRecord | undefined): ControlPlaneLook["leader"] {
    const record = recordOf(lock);
    const renewedAt = Date.parse(record?.renewTime ?? "");
    if (record === undefined || Number.isNaN(renewedAt)) return undefined;
    const renewedAgoMs = Math.max(0, this.#options.clock.wallMs() - renewedAt);
    return { renewedAgoMs, leaseMs: record.leaseDurationMs };
  }
}

const endpointsLock = { kind: "Endpoints", namespace: "kube-system", name: manager } as const;

function recordOf(lock: RawRecord | undefined): LeaderRecord | undefined {
  try {
    return lock && readLeaderRecord(lock);
  } catch (error) {
    if (error instanceof MalformedObjectError) return undefined;
    throw error;
  }
}

const noManagers =
  "no queues, waits and requests: no pod of kube-controller-manager is visible, as on managed clusters. " +
  "Give the address of its metrics or of a Prometheus with --metrics.";

const noLeader =
  "no leader record: kube-system has no lock kube-controller-manager, as on managed clusters.";

function heartbeatOf(node: RawRecord): string {
  const { conditions } = recordIn(node, "status");
  const ready = (Array.isArray(conditions) ? conditions : []).find(
    (one: unknown) => textIn(one as RawRecord, "type") === "Ready",
  );
  return ready === undefined ? "" : textIn(ready as RawRecord, "lastHeartbeatTime");
}

function graceMsOf(pods: readonly ComponentPod[]): number | undefined {
  for (const flag of pods.flatMap(({ flags }) => flags)) {
    const [, text] = /^--node-monitor-grace-period[= ](\S+)$/.exec(flag) ?? [];
    const ms = text === undefined ? undefined : parseGoDuration(text);
    if (ms !== undefined) return ms;
  }
  return undefined;
}
