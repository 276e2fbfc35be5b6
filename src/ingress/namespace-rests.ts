// A namespace whose decisions take long rests after each of them, so that all its decisions together
// have a tenth of the time. What changes meanwhile is decided at once, when the rest is over.
import { type Clock, elapsedMs, type MonotonicMs, monotonicAfter } from "../environment/clock.ts";

/** Of a decision, in its namespace's part. A shorter one is no burden. */
export const longDecisionMs = 10;

const restsPerDecision = 9;

/** Also after a decision that took long for once, as when a watch has listed thousands again. */
const longestRestMs = 5_000;

export class NamespaceRests {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By namespace; those whose rest is over are forgotten when they are asked for. */
  readonly #until = new Map<string, MonotonicMs>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** How much longer it rests; 0 when it does not. */
  leftMs(namespace: string): number {
    const until = this.#until.get(namespace);
    if (until === undefined) return 0;
    // Rounded up: a wait too short for the clock to show would never be over.
    const leftMs = Math.ceil(elapsedMs(this.#clock.monotonicMs(), until));
    if (leftMs > 0) return leftMs;
    this.#until.delete(namespace);
    return 0;
  }

  /** A decision of this namespace alone took so long. */
  took(namespace: string, tookMs: number): void {
    if (tookMs < longDecisionMs) return;
    const restMs = Math.min(longestRestMs, tookMs * restsPerDecision);
    this.#until.set(namespace, monotonicAfter(this.#clock.monotonicMs(), restMs));
  }

  /** The same of a decision about several namespaces, in proportion to these parts. */
  tookTogether(parts: ReadonlyMap<string, number>, tookMs: number): void {
    let whole = 0;
    for (const part of parts.values()) whole += part;
    for (const [namespace, part] of parts) this.took(namespace, (tookMs * part) / whole);
  }
}
