// Observes the endpoint changes of a live cluster while it is sampled: pods, services and EndpointSlices
// or Endpoints. Each change with its lag becomes evidence. The same run is written as a recording, so
// that a saved folder shows the same changes.
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { Observer } from "../../observe/observer.ts";
import { ObserverTape } from "../../recording/observer-tape.ts";
import { runLine } from "../../recording/recording-line.ts";
import type { JourneyEvidence } from "../evidence/evidence.ts";
import { ChangeCollector } from "../evidence/seen-changes.ts";

export interface ChangesWatchOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly cluster: string;
  readonly client: KubeClient;
  /** How evidence names it. */
  readonly source: string;
  /** The lines of a recording are wanted, which costs a text of each object. */
  readonly isRecorded: boolean;
}

export class ChangesWatch {
  /** The form of the published endpoints is asked first, and the permissions on both forms. */
  static readonly startRequests = 5;
  /** Of three watches, to check that they are up to date. */
  static readonly requestsPerMinute = 12;
  readonly #options: ChangesWatchOptions;
  readonly #collector = new ChangeCollector();
  readonly #tape: ObserverTape;
  readonly #observer: Observer;
  #lines: string[] = [];

  constructor(options: ChangesWatchOptions) {
    const { clock, cluster, client } = options;
    this.#options = options;
    this.#tape = new ObserverTape({ clock, write: (line) => void this.#lines.push(line) });
    this.#observer = new Observer({
      ...options,
      clusters: [{ cluster, client }],
      accessClusters: [],
      // Nodes only explain causes, and the samples have their heartbeats.
      nodes: false,
      ...(options.isRecorded && { tap: this.#tape }),
      onEvent: this.#collector.onEvent,
    });
  }

  start(): void {
    const { cluster } = this.#options;
    const { name, wallMs, monotonicMs } = this.#observer.run;
    const watched = {
      monotonicMs,
      wallMs,
      clusters: [{ cluster, aliases: [], isBusiness: true, isAccess: false }],
      namespaces: undefined,
      services: undefined,
      nodes: false,
      asked: { copies: false, proxies: false, logs: false },
    };
    this.#lines.push(runLine({ atMs: wallMs, run: name, watched }));
    this.#tape.started();
    this.#observer.start();
  }

  /** Lines of the recording since the last call. */
  takeLines(): readonly string[] {
    const lines = this.#lines;
    this.#lines = [];
    return lines;
  }

  /** The changes up to now, and what could not be watched, each as a sentence. Idempotent. */
  async stop(): Promise<{ evidence: JourneyEvidence; problems: readonly string[] }> {
    const { clock, source } = this.#options;
    const problems = this.#problems();
    const nowMs = clock.monotonicMs();
    const { wallMs: beganAtMs } = this.#observer.run;
    const evidence = { source, journeys: this.#collector.journeys, nowMs, beganAtMs };
    this.#tape.ended();
    await this.#observer.stop();
    return { evidence, problems };
  }

  #problems(): readonly string[] {
    const [status] = this.#observer.clusters();
    if (status === undefined) return [];
    const { lost, doubts, watches, state } = status;
    const refused = lost.map(({ sentence }) => `${sentence}.`);
    if (state.type === "connecting" || state.type === "unreachable") {
      return ["changes of endpoints: no watch could be opened."];
    }
    const unlisted = watches.filter((one) => !one.listed && one.state !== "refused");
    const missing = unlisted.map(
      ({ resource }) => `${resource}: the list was not complete in time.`,
    );
    return [...refused, ...missing, ...doubts.map((doubt) => `${doubt}.`)];
  }
}
