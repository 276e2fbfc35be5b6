// Timers that belong to one thing and go by names: setting one again replaces it, and all of them
// can be cancelled at once.
import type { CancelTimer, Timers } from "../../environment/timers.ts";

export class NamedTimers<Name extends string> {
  readonly #timers: Timers;
  readonly #cancels = new Map<Name, CancelTimer>();

  constructor(options: { readonly timers: Timers }) {
    this.#timers = options.timers;
  }

  set(name: Name, delayMs: number, act: () => void): void {
    this.#cancels.get(name)?.();
    const cancel = this.#timers.after(delayMs, () => {
      this.#cancels.delete(name);
      act();
    });
    this.#cancels.set(name, cancel);
  }

  cancelAll(): void {
    for (const cancel of this.#cancels.values()) cancel();
    this.#cancels.clear();
  }
}
