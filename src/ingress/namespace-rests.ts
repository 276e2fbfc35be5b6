// A namespace whose decisions take long rests in between, so that all of them together have a tenth of
// the time. Changes meanwhile are decided together, when the rest is over. A few long decisions are
// free: on a busy machine one takes long because something else runs meanwhile.
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";

/** Of a decision, in its namespace's part. A shorter one is no burden. */
export const longDecisionMs = 10;

const share = 0.1;

/** Used without a rest; after a second it is free again. */
export const freeMs = 100;

/** Also after a decision that took long for once, as when a watch has listed thousands again. */
const longestRestMs = 5_000;

interface Use {
  /** Of the namespace's time, at that moment. */
  readonly ms: number;
  readonly at: MonotonicMs;
}

export class NamespaceRests {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By namespace; one that has used nothing is forgotten when it is asked for. */
  readonly #uses = new Map<string, Use>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** How much longer it rests; 0 when it does not. */
  leftMs(namespace: string): number {
    // Rounded up: a wait too short for the clock to show would never be over.
    return Math.ceil(Math.max(0, this.#usedMs(namespace) - freeMs) / share);
  }

  /** A decision of this namespace alone took so long. */
  took(namespace: string, tookMs: number): void {
    if (tookMs < longDecisionMs) return;
    const used = this.#usedMs(namespace) + tookMs;
    const ms = Math.min(used, freeMs + longestRestMs * share);
    this.#uses.set(namespace, { ms, at: this.#clock.monotonicMs() });
  }

  /** The same of a decision about several namespaces, in proportion to these parts. */
  tookTogether(parts: ReadonlyMap<string, number>, tookMs: number): void {
    let whole = 0;
    for (const part of parts.values()) whole += part;
    for (const [namespace, part] of parts) this.took(namespace, (tookMs * part) / whole);
  }

  #usedMs(namespace: string): number {
    const use = this.#uses.get(namespace);
    if (use === undefined) return 0;
    const ms = use.ms - elapsedMs(use.at, this.#clock.monotonicMs()) * share;
    if (ms > 0) return ms;
    this.#uses.delete(namespace);
    return 0;
  }
}
