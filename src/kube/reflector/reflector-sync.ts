// A gate that opens once, after the first list. Closing it rejects all waiters, so that none waits
// for ever.

export class NeverSyncedError extends Error {
  override readonly name = "NeverSyncedError";
  readonly code = "NEVER_SYNCED";
}

export class SyncGate {
  #state: "waiting" | "open" | "closed" = "waiting";
  readonly #waiters = new Set<() => void>();

  get isOpen(): boolean {
    return this.#state === "open";
  }

  open(): void {
    this.#settle("open");
  }

  /** Rejects all waiters. An open gate stays open. */
  close(): void {
    this.#settle("closed");
  }

  async wait(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#state === "waiting") {
      await this.#settled(signal);
    }
    signal?.throwIfAborted();
    if (this.#state === "closed") {
      throw new NeverSyncedError("stopped before the first list was complete");
    }
  }

  /** Resolves when the gate is settled or the signal aborts. */
  #settled(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiters.delete(done);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      this.#waiters.add(done);
      signal?.addEventListener("abort", done);
    });
  }

  #settle(state: "open" | "closed"): void {
    if (this.#state !== "waiting") {
      return;
    }
    this.#state = state;
    for (const waiter of this.#waiters) {
      waiter();
    }
  }
}
