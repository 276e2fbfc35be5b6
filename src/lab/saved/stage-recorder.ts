// Collects what an operator of the clusters on a stage would have of them afterwards: audit logs as
// they are written, metrics pages every so often, access logs, what `lockstep record` would have
// recorded, and at the end a dump through the API. All that comes by ways an operator has. Apart from
// it, in `truth/`, is what the lab alone knows of each lost request, to judge verdicts by.

import { PeerAddresses } from "../../apiserver/audit/peer-addresses.ts";
import { assert } from "../../environment/assert.ts";
import { type Clock, elapsedMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { Network } from "../../environment/network.ts";
import type { Random } from "../../environment/random.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import type { ClusterAccess } from "../../kube/credentials/credentials.ts";
import { Observer } from "../../observe/observer.ts";
import { ObserverTape } from "../../recording/observer-tape.ts";
import { runLine } from "../../recording/recording-line.ts";
import { recordedRun } from "../../recording/watched-run.ts";
import type { LostRequest } from "../traffic/lost-request.ts";
import { dumpCluster } from "./cluster-dump.ts";
import { MetricsSamples } from "./metrics-samples.ts";
import { NewestLines } from "./newest-lines.ts";
import { type AccessForm, ProxyAccess } from "./proxy-access.ts";

/** The recorded parts of a cluster. */
export interface RecordedCluster {
  readonly name: string;
  readonly access: ClusterAccess;
  readonly servers: readonly { readonly name: string; readonly url: string }[];
  readonly controlPlane: {
    readonly managers: readonly { readonly metricsUrl: string | undefined }[];
  };
}

export interface RecordedProxy {
  readonly name: string;
  readonly clock: Clock;
  readonly form: AccessForm;
  /** The service behind the route, as that proxy names it. */
  readonly upstreamName: string;
}

export interface StageRecorderOptions {
  /** The machine from which it looks. */
  readonly environment: RecorderEnvironment;
  /** Its name to the servers it asks, where a run has to be the same whether it is recorded or not. */
  readonly machine?: string;
}

export type RecorderEnvironment = Pick<
  Environment,
  "clock" | "timers" | "random" | "network" | "log"
>;

/** As often as most Prometheus servers scrape. */
const scrapeEveryMs = 15_000;
const scrapeDeadlineMs = 10_000;

/** Facts that only the lab knows; no operator has them. */
export const truthFolder = "truth";

const recordingPath = "recording/recording.jsonl";

/** Those who send requests to the proxies are none of the cluster's machines. */
const clientNetwork = "203.0";

export class StageRecorder {
  readonly #options: StageRecorderOptions;
  readonly #stopping = new AbortController();
  readonly #peers = new PeerAddresses({ network: clientNetwork });
  readonly #files = new Map<string, string>();
  readonly #lines = new Map<string, NewestLines>();
  readonly #samples = new Map<string, MetricsSamples>();
  readonly #scraping: Promise<void>[] = [];
  /** Of the cluster on the stage. */
  #recording: { readonly tape: ObserverTape; readonly observer: Observer } | undefined;
  /** Clusters whose end was recorded. */
  readonly #finished = new Set<string>();
  #heldUpMs = 0;
  /** The random numbers of the recorder's own watches at the servers. */
  readonly isolatedReaders: ReadonlyMap<string, Random>;

  constructor(options: StageRecorderOptions) {
    const { environment, machine } = options;
    this.#options = options;
    this.isolatedReaders = new Map(machine === undefined ? [] : [[machine, environment.random]]);
  }

  /** How long clusters that were to stop have been kept for their dumps. */
  get heldUpMs(): number {
    return this.#heldUpMs;
  }

  /** A line of an API server's audit log. */
  readonly audit = (server: string, line: string): void => {
    this.#linesOf(`audit/${server}.log`).add(line);
  };

  /** The network for a proxy whose access log is wanted. */
  proxied(proxy: RecordedProxy, network: Network): Network {
    const lines = this.#linesOf(`access/${proxy.name}.log`);
    const write = (line: string): void => lines.add(line);
    return new ProxyAccess({ ...proxy, peers: this.#peers, write }).through(network);
  }

  /** The access log of a proxy that writes one itself. */
  accessLog(proxy: string, text: string): void {
    const lines = this.#linesOf(`access/${proxy}.log`);
    for (const line of text.split("\n")) if (line !== "") lines.add(line);
  }

  /** The real state of a lost request; no operator knows this. */
  lost(request: LostRequest): void {
    this.#linesOf(`${truthFolder}/lost-requests.jsonl`).add(JSON.stringify(request));
  }

  /** Reads its metrics and records its changes from now on. */
  attach(cluster: RecordedCluster): void {
    this.#scraping.push(this.#scrape(cluster, this.#stopping.signal));
    this.#record(cluster);
  }

  /** Takes the dump, while the cluster still answers. Idempotent. */
  async finish(cluster: RecordedCluster): Promise<void> {
    const { environment } = this.#options;
    if (this.#finished.has(cluster.name)) return;
    this.#finished.add(cluster.name);
    const heldAt = environment.clock.monotonicMs();
    this.#stopping.abort(new Error("the recording is over"));
    await Promise.all(this.#scraping);
    this.#recording?.tape.ended();
    await this.#recording?.observer.stop();
    const userAgent = "kubectl/v1.33.0 (linux/amd64)";
    const client = new HttpKubeClient({ ...environment, cluster: cluster.access, userAgent });
    try {
      await dumpCluster({ client, write: (path, text) => void this.#files.set(path, text) });
    } catch (error) {
      // An incident may leave no server to ask; what was collected before is still worth having.
      environment.log.warn("the cluster could not be dumped", { cluster: cluster.name, error });
    }
    this.#heldUpMs += elapsedMs(heldAt, environment.clock.monotonicMs());
  }

  /** Path and content of everything, in order of the paths. */
  files(): readonly (readonly [path: string, content: string])[] {
    const all = [
      ...this.#files,
      ...[...this.#lines].map(([path, lines]) => [path, lines.text()] as const),
      ...[...this.#samples].map(([path, samples]) => [path, samples.text()] as const),
    ];
    return all.sort(([one], [other]) => (one < other ? -1 : 1));
  }

  #record({ name: cluster, access }: RecordedCluster): void {
    assert(this.#recording === undefined, "a stage has one cluster that is recorded");
    const { environment } = this.#options;
    const lines = this.#linesOf(recordingPath);
    const client = new HttpKubeClient({ ...environment, cluster: access, userAgent: "lockstep" });
    const tape = new ObserverTape({ ...environment, write: (line) => lines.add(line) });
    const observer = new Observer({
      ...environment,
      // The form that the stock ingress of the lab watches, in every version.
      clusters: [{ cluster, client, form: "endpoints" }],
      accessClusters: [],
      tap: tape,
      tapOnly: true,
      onEvent: () => undefined,
    });
    const { run } = observer;
    const watched = recordedRun(run, [{ cluster }]);
    lines.add(runLine({ atMs: run.wallMs, run: run.name, watched }));
    this.#recording = { tape, observer };
    tape.started();
    observer.start();
  }

  async #scrape(cluster: RecordedCluster, signal: AbortSignal): Promise<void> {
    const { timers, clock } = this.#options.environment;
    while (!signal.aborted) {
      for (const [component, url] of pagesOf(cluster)) {
        const text = await this.#page(cluster.access, url, signal);
        if (text !== undefined) {
          this.#samplesOf(`metrics/${component}.prom`).offer({ atMs: clock.wallMs(), text });
        }
      }
      await timers.sleep(scrapeEveryMs, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    }
  }

  /** Undefined when there was no answer: a gap in the samples, as an operator would see it. */
  async #page(
    access: ClusterAccess,
    url: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { network, timers, log } = this.#options.environment;
    const patience = new AbortController();
    const cancel = timers.after(scrapeDeadlineMs, () => patience.abort());
    try {
      const { authorization, tls } = await access.credentials();
      const response = await network.request({
        method: "GET",
        url,
        headers: authorization === undefined ? {} : { authorization },
        tls,
        signal: AbortSignal.any([signal, patience.signal]),
      });
      const chunks: Uint8Array[] = [];
      for await (const chunk of response.body) chunks.push(chunk);
      return response.status === 200 ? Buffer.concat(chunks).toString("utf8") : undefined;
    } catch (error) {
      log.debug("a metrics page could not be read", { url, error });
      return undefined;
    } finally {
      cancel();
    }
  }

  #linesOf(path: string): NewestLines {
    const lines = this.#lines.get(path) ?? new NewestLines();
    this.#lines.set(path, lines);
    return lines;
  }

  #samplesOf(path: string): MetricsSamples {
    const samples = this.#samples.get(path) ?? new MetricsSamples();
    this.#samples.set(path, samples);
    return samples;
  }
}

/** Component and address of each page there is. */
function pagesOf({
  servers,
  controlPlane,
}: RecordedCluster): readonly (readonly [string, string])[] {
  const managers = controlPlane.managers.flatMap(({ metricsUrl }, index) => {
    const name = `kube-controller-manager${index === 0 ? "" : `-${index + 1}`}`;
    return metricsUrl === undefined ? [] : [[name, metricsUrl] as const];
  });
  return [
    ...servers.map(({ name, url }) => [`kube-apiserver-${name}`, `${url}/metrics`] as const),
    ...managers,
  ];
}
