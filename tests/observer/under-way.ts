// Only for tests: actions in a simulated world that have begun and are not done yet.
import type { Simulation } from "../../src/simulation/simulation.ts";

export class UnderWay {
  readonly #simulation: Simulation;
  readonly #doing = new Set<Promise<void>>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  later(delayMs: number, act: () => Promise<void>): void {
    const doing = this.#simulation
      .sleep(delayMs)
      .then(act)
      .finally(() => this.#doing.delete(doing));
    this.#doing.add(doing);
  }

  /** Resolves when nothing that was begun is under way any more. */
  async settled(): Promise<void> {
    while (this.#doing.size > 0) await Promise.all(this.#doing);
  }
}
