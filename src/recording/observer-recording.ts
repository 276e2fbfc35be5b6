// A recording of an observer: the file, and the tape whose lines go there. When the file is rotated, the
// new one begins with all that is known.
import { ObserverTape } from "./observer-tape.ts";
import { RecordingWriter, type RecordingWriterOptions } from "./recording-writer.ts";

export type ObserverRecordingOptions = Omit<RecordingWriterOptions, "baseline">;

export class ObserverRecording {
  readonly tape: ObserverTape;
  readonly #writer: RecordingWriter;

  constructor(options: ObserverRecordingOptions) {
    const { clock } = options;
    this.tape = new ObserverTape({ clock, write: (line) => this.#writer.add(line) });
    this.#writer = new RecordingWriter({ ...options, baseline: () => this.tape.baseline() });
  }

  /** Lines that could not be written. */
  get dropped(): number {
    return this.#writer.dropped;
  }

  /** Resolves when the file can be written; rejects with a `FilesError` when it cannot. */
  start(): Promise<void> {
    return this.#writer.start();
  }

  /** Resolves when everything is written. Idempotent. */
  stop(): Promise<void> {
    return this.#writer.stop();
  }
}
