// The sending end of a body. A window limits the data that the receiver has not taken; the rest
// waits here. So a slow reader costs its writer memory, which `pendingBytes` shows, as with real
// sockets.
import type { Frame } from "./frame.ts";
import type { Link } from "./link.ts";

/** Sent but not taken, at most; about what a kernel buffers for one connection. */
const windowBytes = 256 * 1024;

/** The maximum of one read from a real socket. */
const maxChunkBytes = 64 * 1024;

/** `drained()` resolves at or below this, as Node's streams do by default. */
const lowWaterBytes = 16 * 1024;

export class BodySender {
  readonly #link: Link;
  readonly #send: (frame: Frame) => void;
  /** Not sent yet, in order. Empty unless the window is full. */
  readonly #queue: Uint8Array[] = [];
  readonly #drainWaiters: (() => void)[] = [];
  #queuedBytes = 0;
  #untakenBytes = 0;
  #state: "open" | "ending" | "ended" | "stopped" = "open";

  constructor(options: { link: Link; send: (frame: Frame) => void }) {
    this.#link = options.link;
    this.#send = options.send;
  }

  get pendingBytes(): number {
    return this.#queuedBytes + this.#untakenBytes;
  }

  /** True once the exchange is over. */
  get stopped(): boolean {
    return this.#state === "stopped";
  }

  /** True when someone here waits for the receiver to take bytes. */
  get waits(): boolean {
    return this.#queue.length > 0 || this.#drainWaiters.length > 0;
  }

  write(bytes: Uint8Array): void {
    if (this.#state !== "open" || bytes.length === 0) return;
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    this.#pump();
  }

  end(): void {
    if (this.#state !== "open") return;
    this.#state = "ending";
    this.#pump();
  }

  drained(): Promise<void> {
    if (this.stopped || this.pendingBytes <= lowWaterBytes) return Promise.resolve();
    return new Promise((resolve) => {
      this.#drainWaiters.push(resolve);
    });
  }

  /** The receiver has taken so many bytes. */
  credit(bytes: number): void {
    if (this.stopped) return;
    this.#untakenBytes -= bytes;
    this.#pump();
    if (this.pendingBytes > lowWaterBytes) return;
    for (const wake of this.#drainWaiters.splice(0)) wake();
  }

  /** The exchange is over: waiting data is dropped, and writing has no effect. */
  stop(): void {
    const waiters = this.#drainWaiters.splice(0);
    this.discard();
    for (const wake of waiters) wake();
  }

  /** As `stop`, but the program here is dead: no waiter is woken. */
  discard(): void {
    this.#state = "stopped";
    this.#queue.length = 0;
    this.#drainWaiters.length = 0;
    this.#queuedBytes = 0;
    this.#untakenBytes = 0;
  }

  #pump(): void {
    while (this.#untakenBytes < windowBytes) {
      const bytes = this.#queue.shift();
      if (bytes === undefined) break;
      this.#sendData(bytes);
    }
    if (this.#state === "ending" && this.#queue.length === 0) {
      this.#state = "ended";
      this.#send({ kind: "end" });
    }
  }

  #sendData(bytes: Uint8Array): void {
    const most = Math.min(bytes.length, maxChunkBytes);
    const cut = this.#link.drawSplit(most) ?? most;
    if (cut < bytes.length) this.#queue.unshift(bytes.subarray(cut));
    this.#queuedBytes -= cut;
    this.#untakenBytes += cut;
    this.#send({ kind: "data", bytes: bytes.subarray(0, cut) });
  }
}
