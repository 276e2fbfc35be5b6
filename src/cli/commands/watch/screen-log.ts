// A log for a command that draws on the terminal: a line of it would tear the picture. How it stands
// with clusters and proxies is in the picture; of the rest the last errors are kept for it.
import type { Log } from "../../../environment/log.ts";

/** The newest errors are the ones that matter. */
const keptMax = 5;

export class ScreenLog implements Log {
  readonly #errors: string[] = [];

  /** Oldest first. */
  get errors(): readonly string[] {
    return this.#errors;
  }

  error(message: string): void {
    if (this.#errors.includes(message)) return;
    this.#errors.push(message);
    if (this.#errors.length > keptMax) this.#errors.shift();
  }

  debug(): void {
    // Nobody reads it here.
  }

  info(): void {
    // Nobody reads it here.
  }

  warn(): void {
    // What it would say, a row of the picture says.
  }

  child(): Log {
    return this;
  }
}
