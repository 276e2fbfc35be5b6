// One exchange between two simulated processes: a channel up, a channel down, and a side at each
// end. The sides hold what the program sees; this holds what the network knows. Each side ends on
// its own, because a break takes time to be noticed; when both have ended, the exchange is gone.
import { deadPeerMs, type OutgoingRequest } from "../../environment/network.ts";
import type { ProcessEnd } from "../simulated-process.ts";
import type { Trace } from "../trace.ts";
import type { VirtualTime } from "../virtual-time.ts";
import { Channel } from "./channel.ts";
import { ClientSide } from "./client-side.ts";
import { type BreakCode, networkFailure } from "./failure.ts";
import type { Frame } from "./frame.ts";
import type { Link } from "./link.ts";
import type { ServerSide } from "./server-side.ts";

export interface ExchangeOptions {
  readonly time: VirtualTime;
  readonly trace: Trace;
  readonly id: number;
  readonly up: Link;
  readonly down: Link;
  readonly request: OutgoingRequest;
  /** Path and query. */
  readonly target: string;
  /** `host:port` the client asked for. */
  readonly peer: string;
  /** Makes the server's side when the opening has arrived; undefined at a closed port. */
  readonly accept: (
    exchange: Exchange,
    opening: Frame & { kind: "open" },
  ) => ServerSide | undefined;
  /** The client's process needs to know of it no longer. */
  readonly onClientOver: (exchange: Exchange) => void;
}

export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #openedMs: number;
  readonly #up: Channel;
  readonly #down: Channel;
  readonly client: ClientSide;
  #server: ServerSide | undefined;
  #clientOver = false;
  #serverOver = false;

  constructor(options: ExchangeOptions) {
    const { time, trace, up, down, id } = options;
    this.#options = options;
    this.#openedMs = time.nowMs;
    this.#up = new Channel({
      time,
      trace,
      link: up,
      reverse: down,
      id,
      receive: (frame) => this.#arriveUp(frame),
      onOpeningHeld: () => this.#limitOpening(),
    });
    this.#down = new Channel({
      time,
      trace,
      link: down,
      reverse: up,
      id: -id,
      receive: (frame) => this.#arriveDown(frame),
    });
    up.exchanges.add(this);
    this.client = new ClientSide(this, options);
  }

  get openedMs(): number {
    return this.#openedMs;
  }

  get up(): Channel {
    return this.#up;
  }

  get down(): Channel {
    return this.#down;
  }

  get upLink(): Link {
    return this.#options.up;
  }

  get downLink(): Link {
    return this.#options.down;
  }

  /** The client has taken bytes of the answer. */
  creditServer(bytes: number): void {
    const sender = this.#server?.sender;
    if (this.#serverOver || sender === undefined) return;
    if (sender.waits || this.#up.blocked) this.#up.send({ kind: "credit", bytes });
    else sender.credit(bytes);
  }

  /** The server has taken bytes of the request's body. */
  creditClient(bytes: number): void {
    if (this.#clientOver) return;
    const { sender } = this.client;
    if (sender.waits || this.#down.blocked) this.#down.send({ kind: "credit", bytes });
    else sender.credit(bytes);
  }

  /** The client's program closed it: it aborted, or left the body. */
  clientLeft(): void {
    if (this.#clientOver) return;
    this.#endClient();
    this.client.sender.stop();
    this.#tellServer();
  }

  /** The server's program broke it, or stopped listening. */
  serverLeft(): void {
    if (this.#serverOver) return;
    this.#endServer();
    this.#down.send({ kind: "reset" });
    this.#dispose();
  }

  /** As `clientLeft`, but the program is dead and must get no callback. */
  clientDied(end: ProcessEnd): void {
    if (this.#clientOver) return;
    this.#endClient();
    this.client.died();
    if (end === "exited") this.#tellServer();
    else this.#expire();
  }

  serverDied(end: ProcessEnd): void {
    if (this.#serverOver) return;
    this.#endServer();
    this.#server?.sender?.discard();
    if (end === "exited") this.#down.send({ kind: "reset" });
    else this.#expire();
    this.#dispose();
  }

  /** Both sides see it break now. */
  breakBoth(code: "RESET" | "DEAD_PEER"): void {
    this.#failClient(code);
    this.#failServer(code);
    this.#dispose();
  }

  #arriveUp(frame: Frame): void {
    if (frame.kind === "open") {
      this.#accept(frame);
    } else if (frame.kind === "reset") {
      this.#failServer("RESET");
      this.#dispose();
    } else if (!this.#serverOver) {
      this.#server?.receive(frame);
    }
  }

  #accept(opening: Frame & { kind: "open" }): void {
    this.#server = this.#options.accept(this, opening);
    if (this.#server !== undefined) {
      this.#server.start();
      return;
    }
    this.#endServer();
    this.#down.send({ kind: "refused" });
    this.#dispose();
  }

  /** The client is gone. An attempt that never reached the server leaves no trace there. */
  #tellServer(): void {
    if (this.#up.opening && this.#up.held) this.#serverOver = true;
    else this.#up.send({ kind: "reset" });
    this.#dispose();
  }

  /** One side's machine is gone without a word: the other finds out by keep-alive. */
  #expire(): void {
    this.#options.time.after(deadPeerMs, undefined, () => this.breakBoth("DEAD_PEER"));
  }

  #arriveDown(frame: Frame): void {
    if (frame.kind === "refused") this.#failClient("REFUSED");
    else if (frame.kind === "reset") this.#failClient("RESET");
    else this.client.receive(frame);
    if (frame.kind === "end") this.#complete();
    this.#dispose();
  }

  /** The answer has arrived in full. */
  #complete(): void {
    this.#endClient();
    this.client.sender.stop();
    if (this.#serverOver) return;
    this.#endServer();
    this.#server?.finish();
  }

  #limitOpening(): void {
    const { connectTimeoutMs = deadPeerMs } = this.#options.request;
    const atMs = this.#openedMs + connectTimeoutMs;
    this.#options.time.at(atMs, undefined, () => {
      if (this.#up.opening && this.#up.held && !this.#clientOver) this.breakBoth("DEAD_PEER");
    });
  }

  #failClient(code: BreakCode): void {
    if (this.#clientOver) return;
    this.#endClient();
    this.client.fail(networkFailure(code, this.#options.peer));
  }

  #failServer(code: BreakCode): void {
    if (this.#serverOver) return;
    this.#endServer();
    this.#server?.fail(networkFailure(code, "the client"));
  }

  #endClient(): void {
    this.#clientOver = true;
    this.#down.close();
    this.#options.onClientOver(this);
  }

  #endServer(): void {
    this.#serverOver = true;
    this.#up.close();
  }

  #dispose(): void {
    if (!this.#clientOver || !this.#serverOver) return;
    this.#up.close();
    this.#down.close();
    this.upLink.exchanges.delete(this);
  }
}
