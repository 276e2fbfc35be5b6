// Future events, ordered by time: two events of the same instant run in the order in which they
// were scheduled.
import { type Due, DueQueue } from "../environment/due-queue.ts";

export interface ScheduledEvent extends Due {
  readonly sequence: number;
  /** The process that scheduled it; its events are dropped together when it ends. */
  readonly owner: object | undefined;
  /** Undefined once it ran or was cancelled. */
  callback: (() => void) | undefined;
}

export class EventQueue {
  readonly #queue = new DueQueue<ScheduledEvent>();
  #nextSequence = 0;

  get size(): number {
    return this.#queue.size;
  }

  schedule(atMs: number, owner: object | undefined, callback: () => void): ScheduledEvent {
    const event = { dueAt: atMs, place: -1, sequence: this.#nextSequence++, owner, callback };
    this.#queue.set(event, atMs);
    return event;
  }

  cancel(event: ScheduledEvent): void {
    event.callback = undefined;
    this.#queue.delete(event);
  }

  cancelOwnedBy(owner: object): void {
    for (const event of this.#queue.items().filter((one) => one.owner === owner)) {
      this.cancel(event);
    }
  }

  clear(): void {
    for (const event of this.#queue.items()) event.callback = undefined;
    this.#queue.clear();
  }

  /** Removes and returns the earliest event; the caller takes its callback. */
  pop(): ScheduledEvent | undefined {
    const { first } = this.#queue;
    if (first !== undefined) this.#queue.delete(first);
    return first;
  }
}
