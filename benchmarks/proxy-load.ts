// A load generator's process (bench-load.ts or bench-handshakes.ts), as the benchmark sees it.
import { BenchChild } from "./bench-child.ts";
import type { HandshakeTarget } from "./bench-handshakes.ts";
import type { LoadResult, LoadTarget } from "./bench-load.ts";

export class LoadProcess {
  readonly #child: BenchChild;

  private constructor(child: BenchChild) {
    this.#child = child;
  }

  /** Each generator has one target: its knowledge of the answers holds for that alone. */
  static async start(target: LoadTarget): Promise<LoadProcess> {
    const { child } = await BenchChild.start("bench-load", target);
    return new LoadProcess(child);
  }

  /** Of connections instead of requests. */
  static async handshakes(target: HandshakeTarget): Promise<LoadProcess> {
    const { child } = await BenchChild.start("bench-handshakes", target);
    return new LoadProcess(child);
  }

  /** Asks until `end`. */
  async begin(): Promise<void> {
    await this.#child.ask("begin");
  }

  async end(): Promise<LoadResult> {
    return await this.#child.ask<LoadResult>("end");
  }

  /** Asks for so long. */
  async run(durationMs: number): Promise<LoadResult> {
    await this.begin();
    await new Promise((resolve) => setTimeout(resolve, durationMs));
    return await this.end();
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await this.#child.stop();
  }
}
