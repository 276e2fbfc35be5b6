// `lockstep record` without its command line: an observer of which only the tape matters. Every cluster
// is watched by itself, so that one that cannot be reached keeps no other from being recorded, and all
// of it goes to one file.
import { type ObservedCluster, Observer, type ObserverOptions } from "../observe/observer.ts";
import { ObserverRecording, type ObserverRecordingOptions } from "./observer-recording.ts";
import { recordedRun } from "./watched-run.ts";

export interface RecorderOptions
  extends Omit<ObserverRecordingOptions, "run">,
    Pick<ObserverOptions, "maxQps"> {
  readonly clusters: readonly ObservedCluster[];
  /** Every namespace when undefined. */
  readonly namespaces: readonly string[] | undefined;
}

export class Recorder {
  readonly #recording: ObserverRecording;
  readonly #observer: Observer;

  constructor(options: RecorderOptions) {
    const { clock, random, clusters, namespaces } = options;
    const run = {
      name: random.uuid(),
      wallMs: clock.wallMs(),
      monotonicMs: clock.monotonicMs(),
    };
    const watched = recordedRun(run, clusters, namespaces);
    this.#recording = new ObserverRecording({ ...options, run: { name: run.name, watched } });
    this.#observer = new Observer({
      ...options,
      run,
      // No watch of slices is opened for copies where Endpoints are recorded.
      accessClusters: [],
      nodes: true,
      tap: this.#recording.tape,
      tapOnly: true,
      onEvent: () => undefined,
    });
  }

  /** Its preview, its permissions, and the status of each cluster. */
  get observer(): Pick<Observer, "preview" | "permissions" | "clusters"> {
    return this.#observer;
  }

  /** Lines that could not be written. */
  get dropped(): number {
    return this.#recording.dropped;
  }

  /** Resolves when the file can be written; rejects with a `FilesError` when it cannot. */
  async start(): Promise<void> {
    await this.#recording.start();
    this.#recording.tape.started();
    this.#observer.start();
  }

  /** Resolves when everything is written. Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    this.#recording.tape.ended();
    await this.#observer.stop();
    await this.#recording.stop();
  }
}
