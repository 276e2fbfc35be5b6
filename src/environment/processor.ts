// The processor time of this process. Unlike the time on a clock, it leaves out the work of other
// processes on a busy machine: it is the cost of a computation.
export interface Processor {
  /** Since an arbitrary start; only differences mean something. All threads count. */
  usedMs(): number;
}

/** Adds up the processor time of several parts of a computation, without the time in between. */
export class ProcessorMeter {
  readonly #processor: Processor;
  #beganAtMs = 0;
  usedMs = 0;

  constructor(processor: Processor) {
    this.#processor = processor;
  }

  begin(): void {
    this.#beganAtMs = this.#processor.usedMs();
  }

  end(): void {
    this.usedMs += this.#processor.usedMs() - this.#beganAtMs;
  }
}
