// `lockstep record` without its command line: every cluster is watched by itself, so that one that
// cannot be reached keeps nobody from being recorded, and all of it goes to one file. A sign of life
// now and then says until when nothing happened, and which watches may be behind.
import { setMaxListeners } from "node:events";
import type { Environment } from "../environment/environment.ts";
import type { CancelTimer } from "../environment/timers.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { Backoff } from "../kube/reflector/backoff.ts";
import { askPublishedForm, type PublishedForm } from "../sources/published-form.ts";
import { ClusterRecorder, type RecordedWatch } from "./cluster-recorder.ts";
import { aliveLine } from "./recording-line.ts";
import { RecordingWriter } from "./recording-writer.ts";

export interface ClusterToRecord {
  readonly cluster: string;
  readonly client: KubeClient;
  /** How it publishes; rejects without an answer. Unless given, by what the API server has. */
  readonly askForm?: (signal: AbortSignal) => Promise<PublishedForm>;
}

export interface RecorderOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "files" | "log"> {
  readonly clusters: readonly ClusterToRecord[];
  /** `auto` asks each cluster. */
  readonly form: PublishedForm | "auto";
  readonly namespaces: readonly string[] | undefined;
  /** Absolute. */
  readonly path: string;
  readonly maxBytes: number;
  /** Names and addresses are replaced before anything is written. */
  readonly anonymize?: boolean;
}

/** Costs 60 bytes. What happened after the last one before a crash is not known. */
const aliveEveryMs = 10_000;

export class Recorder {
  readonly #options: RecorderOptions;
  readonly #writer: RecordingWriter;
  readonly #recorders: ClusterRecorder[] = [];
  readonly #abort = new AbortController();
  #starting: Promise<void>[] = [];
  #cancelAlive: CancelTimer | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
    const baseline = () => this.#recorders.flatMap((recorder) => recorder.baseline());
    this.#writer = new RecordingWriter({ ...options, baseline });
  }

  /** Lines that could not be written. */
  get dropped(): number {
    return this.#writer.dropped;
  }

  watches(): readonly RecordedWatch[] {
    return this.#recorders.flatMap((recorder) => recorder.watches());
  }

  /** Clusters that have not answered yet. */
  waitingFor(): readonly string[] {
    const heard = new Set(this.watches().map(({ cluster }) => cluster));
    return this.#options.clusters.map(({ cluster }) => cluster).filter((name) => !heard.has(name));
  }

  /** Resolves when the file can be written; rejects with a `FilesError` when it cannot. */
  async start(): Promise<void> {
    await this.#writer.start();
    // Each cluster listens to it while it starts; Node takes more than ten for a leak.
    setMaxListeners(0, this.#abort.signal);
    this.#starting = this.#options.clusters.map((cluster) => this.#record(cluster));
    this.#aliveLater();
  }

  /** Resolves when everything is written. Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    this.#cancelAlive?.();
    if (!this.#abort.signal.aborted) this.#writer.add(this.#aliveLine());
    this.#abort.abort(new Error("the recorder was stopped"));
    await Promise.all(this.#starting);
    await Promise.all(this.#recorders.map((recorder) => recorder.stop()));
    await this.#writer.stop();
  }

  async #record(one: ClusterToRecord): Promise<void> {
    const { signal } = this.#abort;
    const { cluster, client } = one;
    try {
      const { form: asked } = this.#options;
      const form = asked === "auto" ? await this.#askUntilAnswered(one) : asked;
      const write = (line: string): void => this.#writer.add(line);
      const recorder = new ClusterRecorder({ ...this.#options, cluster, client, form, write });
      this.#recorders.push(recorder);
      recorder.start();
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #askUntilAnswered({ cluster, client, askForm }: ClusterToRecord): Promise<PublishedForm> {
    const { timers, log } = this.#options;
    const { signal } = this.#abort;
    const backoff = new Backoff(this.#options);
    for (;;) {
      try {
        return await (askForm?.(signal) ?? askPublishedForm(client, signal));
      } catch (error) {
        signal.throwIfAborted();
        log.warn("could not ask a cluster how it publishes endpoints", { cluster, error });
        await timers.sleep(backoff.next(), signal);
      }
    }
  }

  #aliveLater(): void {
    this.#cancelAlive = this.#options.timers.after(aliveEveryMs, () => {
      this.#writer.add(this.#aliveLine());
      this.#aliveLater();
    });
  }

  #aliveLine(): string {
    const behind = this.watches()
      .filter(({ isListed, isFresh }) => isListed && !isFresh)
      .map(({ cluster, resource }) => `${cluster} ${resource}`);
    return aliveLine({ atMs: this.#options.clock.wallMs(), behind: [...new Set(behind)] });
  }
}
