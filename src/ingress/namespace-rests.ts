// A namespace with costly decisions rests in between, so that all of them together have a tenth of a
// core. Changes meanwhile are decided together, when the rest is over. The cost is processor time: on a
// busy machine a decision takes long because something else runs meanwhile, and that costs nothing.
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";

/** Of a decision, in its namespace's part. A cheaper one is no burden. */
export const costlyDecisionMs = 10;

const share = 0.1;

/** Used without a rest; free again after a quarter of a second. */
export const freeMs = 25;

/** Also after a decision that cost much for once, as when a watch has listed thousands again. */
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

  /** By a decision of this namespace alone. */
  used(namespace: string, usedMs: number): void {
    if (usedMs < costlyDecisionMs) return;
    const used = this.#usedMs(namespace) + usedMs;
    const ms = Math.min(used, freeMs + longestRestMs * share);
    this.#uses.set(namespace, { ms, at: this.#clock.monotonicMs() });
  }

  /** The same of a decision about several namespaces, in proportion to these parts. */
  usedTogether(parts: ReadonlyMap<string, number>, usedMs: number): void {
    let whole = 0;
    for (const part of parts.values()) whole += part;
    for (const [namespace, part] of parts) this.used(namespace, (usedMs * part) / whole);
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
