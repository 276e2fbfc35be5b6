// One direction of one exchange: frames arrive in the order sent, each after the link's latency.
// Frames sent in one instant travel together. While the way is blocked, frames are held, as TCP
// holds and retransmits them; they are delivered in order once it opens again.
import { assertCostly } from "../../environment/assert.ts";
import type { ScheduledEvent } from "../event-queue.ts";
import type { Trace } from "../trace.ts";
import type { VirtualTime } from "../virtual-time.ts";
import { type Frame, frameText } from "./frame.ts";
import type { Link } from "./link.ts";

export interface ChannelOptions {
  readonly time: VirtualTime;
  readonly trace: Trace;
  readonly link: Link;
  /** The other direction: an opening needs it as well, to be acknowledged. */
  readonly reverse: Link;
  /** Of the exchange, for the trace; negative for the answers. */
  readonly id: number;
  readonly receive: (frame: Frame) => void;
  /** Called when an opening is held because there is no answer. */
  readonly onOpeningHeld?: () => void;
}

interface Packet {
  readonly sentMs: number;
  readonly frames: Frame[];
  /** Undefined while held. */
  arrival: ScheduledEvent | undefined;
}

export class Channel {
  readonly #options: ChannelOptions;
  /** In the order sent. Invariant: either all have an arrival, in order, or none has. */
  readonly #packets: Packet[] = [];
  readonly #arrive: () => void;
  #lastArrivalMs = 0;
  #held = false;
  #closed = false;
  #stalled: boolean;
  /** Until the first packet is delivered. */
  #opening: boolean;

  constructor(options: ChannelOptions) {
    this.#options = options;
    this.#stalled = options.link.stallsNew;
    this.#opening = options.onOpeningHeld !== undefined;
    this.#arrive = () => this.#deliver();
  }

  get opening(): boolean {
    return this.#opening;
  }

  get held(): boolean {
    return this.#held;
  }

  /** Whether data sent now would be held when it arrives. */
  get blocked(): boolean {
    const { link, reverse } = this.#options;
    if (this.#stalled || link.partitioned || link.to.vanished) return true;
    return this.#opening && reverse.partitioned;
  }

  send(frame: Frame): void {
    if (this.#closed) return;
    const { time, trace, id } = this.#options;
    const bytes = frame.kind === "data" ? frame.bytes : undefined;
    trace.add("message", time.nowMs, id, 0, frameText(frame), bytes);
    const last = this.#packets.at(-1);
    if (last !== undefined && last.sentMs === time.nowMs) {
      last.frames.push(frame);
      return;
    }
    const packet: Packet = { sentMs: time.nowMs, frames: [frame], arrival: undefined };
    this.#packets.push(packet);
    if (!this.#held) this.#schedule(packet);
    this.#check();
  }

  stall(): void {
    this.#stalled = true;
  }

  unstall(): void {
    this.#stalled = false;
    this.release();
  }

  /** Sends on what is held, if the way is open. */
  release(): void {
    if (!this.#held || this.#closed || this.blocked) return;
    this.#held = false;
    for (const packet of this.#packets) this.#schedule(packet);
    this.#check();
  }

  /** Nothing more is delivered. */
  close(): void {
    this.#closed = true;
    this.#cancelArrivals();
    this.#packets.length = 0;
  }

  #schedule(packet: Packet): void {
    const { time, link } = this.#options;
    const arrivalMs = Math.max(this.#lastArrivalMs, time.nowMs + link.drawLatencyMs());
    this.#lastArrivalMs = arrivalMs;
    packet.arrival = time.at(arrivalMs, undefined, this.#arrive);
  }

  #deliver(): void {
    if (this.#closed) return;
    if (this.blocked) {
      this.#held = true;
      this.#cancelArrivals();
      this.#check();
      if (this.#opening && !this.#stalled) this.#options.onOpeningHeld?.();
      return;
    }
    const packet = this.#packets.shift();
    if (packet === undefined) return;
    this.#opening = false;
    for (const frame of packet.frames) {
      if (this.#closed) return;
      this.#options.receive(frame);
    }
  }

  #check(): void {
    const isInOrder = () => {
      let lastMs = 0;
      return this.#packets.every(({ arrival }) => {
        if (arrival === undefined) return this.#held;
        const isLater = arrival.dueAt >= lastMs;
        lastMs = arrival.dueAt;
        return !this.#held && isLater;
      });
    };
    assertCostly(isInOrder, "packets arrive in order, or are held", this.#packets.length);
  }

  #cancelArrivals(): void {
    for (const packet of this.#packets) {
      if (packet.arrival !== undefined) this.#options.time.cancel(packet.arrival);
      packet.arrival = undefined;
    }
  }
}
