// The event stream of the page: one ring of encoded events, whose bytes go to every page. A page that
// reconnects names the last event it has and gets what it missed from the ring, or everything again.
// A page that does not read is cut off: it holds no memory, and resumes when it reads again.
import type { Headers, ServerExchange } from "../environment/network.ts";
import type { CancelTimer, Timers } from "../environment/timers.ts";

export interface EventStreamOptions {
  readonly timers: Timers;
  /** Names this stream; a page with an event of another one gets everything again. */
  readonly name: string;
  /** The data of the event `reset`, as JSON. */
  readonly reset: () => string;
  /** The first page comes, or the last has been gone for a while: events are wanted, or not. */
  readonly onWanted: (isWanted: boolean) => void;
}

/** Half a minute of a very busy cluster, minutes of an ordinary one; one encoding for all pages. */
const ringBytesMax = 4 * 1024 * 1024;
const ringEventsMax = 2_000;

/** More than a `reset` and the whole ring, so that a page that resumes is not cut off at once. */
const pendingBytesMax = 8 * 1024 * 1024;

/** Each is a socket; more would be a mistake or an attack. */
const pagesMax = 1_000;

/** A page that was closed for a reload comes back sooner. */
const lingerMs = 30_000;

/** Proxies close connections that are silent for a minute. */
const aliveEveryMs = 15_000;

/** Pages that open together get the same `reset`, and the events after it. */
const resetReusedMs = 1_000;

const headers = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};

const alive = Buffer.from(": alive\n\n", "utf8");

interface Kept {
  readonly sequence: number;
  readonly bytes: Buffer;
}

interface Page {
  readonly exchange: ServerExchange;
  readonly body: ReturnType<ServerExchange["respond"]>;
}

/**
 * Invariant: the sequence numbers in the ring are consecutive, and the last one is `#sequence`; the
 * ring is empty while no event is wanted.
 */
export class EventStream {
  readonly #options: EventStreamOptions;
  #ring: Kept[] = [];
  #ringBytes = 0;
  #sequence = 0;
  readonly #pages = new Set<Page>();
  #isWanted = false;
  #cancelLinger: CancelTimer | undefined;
  #cancelAlive: CancelTimer | undefined;
  #reset: Kept | undefined;
  #cancelReset: CancelTimer | undefined;
  /** Pages that did not read and were cut off. */
  cutOff = 0;
  /** Computations of the event `reset`. */
  resets = 0;

  constructor(options: EventStreamOptions) {
    this.#options = options;
  }

  get isWanted(): boolean {
    return this.#isWanted;
  }

  get pages(): number {
    return this.#pages.size;
  }

  /** Sends it to every page; `data` is JSON. Nothing is done while no page wants events. */
  send(event: string, data: string): void {
    if (!this.#isWanted) return;
    this.#sequence += 1;
    const kept = { sequence: this.#sequence, bytes: this.#encoded(event, data, this.#sequence) };
    this.#ring.push(kept);
    this.#ringBytes += kept.bytes.length;
    while (this.#ringBytes > ringBytesMax || this.#ring.length > ringEventsMax) {
      this.#ringBytes -= this.#ring.shift()?.bytes.length ?? 0;
    }
    for (const page of this.#pages) this.#write(page, kept.bytes);
  }

  /** False when there are too many pages; the exchange is then untouched. */
  open(exchange: ServerExchange, safety: Headers = {}): boolean {
    if (this.#pages.size >= pagesMax) return false;
    const lastId = exchange.request.headers["last-event-id"];
    this.#want();
    const page = { exchange, body: exchange.respond(200, { ...safety, ...headers }) };
    this.#pages.add(page);
    exchange.request.closed.addEventListener("abort", () => this.#gone(page), { once: true });
    if (exchange.request.closed.aborted) this.#gone(page);
    for (const { bytes } of this.#missed(lastId)) this.#write(page, bytes);
    return true;
  }

  /** Ends every page; they reconnect if they can. Idempotent. */
  close(): void {
    for (const page of this.#pages) page.body.end();
    this.#pages.clear();
    this.#unwant();
  }

  /** The events after the last one that the page has; with `reset` first if some are lost. */
  #missed(lastId: string | undefined): readonly Kept[] {
    const last = this.#sequenceOf(lastId);
    const after = last === undefined ? undefined : this.#after(last);
    if (after !== undefined) return after;
    const reset = this.#currentReset();
    return [reset, ...(this.#after(reset.sequence) ?? [])];
  }

  /** Undefined when the ring does not hold all events after it. */
  #after(sequence: number): readonly Kept[] | undefined {
    if (sequence === this.#sequence) return [];
    const first = this.#ring[0]?.sequence;
    if (sequence > this.#sequence || first === undefined || sequence < first - 1) return undefined;
    return this.#ring.slice(sequence - first + 1);
  }

  #currentReset(): Kept {
    const known = this.#reset;
    if (known !== undefined && this.#after(known.sequence) !== undefined) return known;
    const { timers, reset } = this.#options;
    this.resets += 1;
    const bytes = this.#encoded("reset", reset(), this.#sequence);
    const made = { sequence: this.#sequence, bytes };
    this.#reset = made;
    this.#cancelReset?.();
    this.#cancelReset = timers.after(resetReusedMs, () => {
      this.#reset = undefined;
    });
    return made;
  }

  #sequenceOf(id: string | undefined): number | undefined {
    const [, name, sequence] = /^([\w-]{1,64})\.(\d{1,15})$/.exec(id ?? "") ?? [];
    return name === this.#options.name ? Number(sequence) : undefined;
  }

  /** `data` has no line end, for it is JSON. */
  #encoded(event: string, data: string, sequence: number): Buffer {
    const id = `${this.#options.name}.${sequence}`;
    return Buffer.from(`id: ${id}\nevent: ${event}\ndata: ${data}\n\n`, "utf8");
  }

  #write(page: Page, bytes: Buffer): void {
    if (page.body.pendingBytes + bytes.length <= pendingBytesMax) {
      page.body.write(bytes);
      return;
    }
    this.cutOff += 1;
    page.exchange.abort();
    this.#gone(page);
  }

  #want(): void {
    this.#cancelLinger?.();
    this.#cancelLinger = undefined;
    if (this.#isWanted) return;
    this.#isWanted = true;
    this.#keepAlive();
    this.#options.onWanted(true);
  }

  #unwant(): void {
    this.#cancelLinger?.();
    this.#cancelAlive?.();
    this.#cancelReset?.();
    this.#reset = undefined;
    this.#ring = [];
    this.#ringBytes = 0;
    if (!this.#isWanted) return;
    // Changes from now on are in no event, so no page may resume here.
    this.#sequence += 1;
    this.#isWanted = false;
    this.#options.onWanted(false);
  }

  #gone(page: Page): void {
    if (!this.#pages.delete(page) || this.#pages.size > 0) return;
    this.#cancelLinger?.();
    this.#cancelLinger = this.#options.timers.after(lingerMs, () => this.#unwant());
  }

  #keepAlive(): void {
    this.#cancelAlive = this.#options.timers.after(aliveEveryMs, () => {
      for (const page of this.#pages) this.#write(page, alive);
      this.#keepAlive();
    });
  }
}
