// The server's side of an exchange: the request, a way to answer, and a signal for the end. Classes
// with getters rather than object literals with getters: each literal would get its own hidden
// class, which only a full garbage collection frees.
import {
  type BodyWriter,
  type Headers,
  type IncomingRequest,
  NetworkError,
  type ServerExchange,
} from "../../environment/network.ts";
import type { ProcessEnd } from "../simulated-process.ts";
import { BodyReceiver } from "./body-receiver.ts";
import { BodySender } from "./body-sender.ts";
import type { Exchange } from "./exchange.ts";
import { type Frame, lowerCaseNames } from "./frame.ts";

export class ServerSide implements ServerExchange {
  readonly #exchange: Exchange;
  readonly #handle: (side: ServerSide) => void;
  readonly #onOver: (side: ServerSide) => void;
  readonly #body: BodyReceiver;
  readonly request: IncomingRequest;
  #sender: BodySender | undefined;
  /** Made when first asked for: most handlers never ask, and it is the dearest part. */
  #closed: AbortController | undefined;
  #over = false;

  constructor(options: {
    exchange: Exchange;
    opening: Frame & { kind: "open" };
    /** The client's address. */
    peer: string;
    handle: (side: ServerSide) => void;
    onOver: (side: ServerSide) => void;
  }) {
    const { exchange } = options;
    this.#exchange = exchange;
    this.#handle = options.handle;
    this.#onOver = options.onOver;
    this.#body = new BodyReceiver({
      onTake: (bytes) => exchange.creditClient(bytes),
      onFinish: (how) => {
        if (how === "left") this.leave();
      },
    });
    this.request = new SimulatedRequest(this, options.opening, this.#body, options.peer);
  }

  get sender(): BodySender | undefined {
    return this.#sender;
  }

  get responded(): boolean {
    return this.#sender !== undefined;
  }

  get over(): boolean {
    return this.#over;
  }

  get closed(): AbortSignal {
    if (this.#closed === undefined) {
      this.#closed = new AbortController();
      if (this.#over) this.#closed.abort(exchangeOver);
    }
    return this.#closed.signal;
  }

  respond(status: number, headers: Headers = {}): BodyWriter {
    if (this.#sender !== undefined) throw new Error("the exchange was already answered");
    if (!Number.isInteger(status) || status < 200 || status > 599) {
      throw new RangeError(`not a status to answer with: ${status}`);
    }
    const exchange = this.#exchange;
    const sender = new BodySender({
      link: exchange.downLink,
      send: (frame) => exchange.down.send(frame),
    });
    this.#sender = sender;
    if (this.#over) sender.stop();
    else exchange.down.send({ kind: "head", status, headers: lowerCaseNames(headers) });
    return new SimulatedWriter(this, sender);
  }

  abort(): void {
    this.leave();
  }

  /** Hands the exchange to the program. */
  start(): void {
    this.#handle(this);
  }

  receive(frame: Frame): void {
    if (frame.kind === "data") this.#body.push(frame.bytes);
    else if (frame.kind === "end") this.#body.end();
    else if (frame.kind === "credit") this.#sender?.credit(frame.bytes);
  }

  /** Breaks the connection from this end. Idempotent. */
  leave(): void {
    if (this.#over) return;
    this.#exchange.serverLeft();
    this.finish();
  }

  /** The program is dead: the exchange ends without telling it. */
  died(end: ProcessEnd): void {
    this.#over = true;
    this.#exchange.serverDied(end);
  }

  /** The exchange broke. */
  fail(error: NetworkError): void {
    this.#body.fail(error, { discard: false });
    this.finish();
  }

  /** Answered in full, or over in another way. */
  finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#sender?.stop();
    if (this.#body.open) {
      const error = new NetworkError("RESET", "the exchange ended before the request's body did");
      this.#body.fail(error, { discard: false });
    }
    this.#onOver(this);
    this.#closed?.abort(exchangeOver);
  }
}

/** One for all: where it was made says nothing, and finding that out costs more than an exchange. */
const exchangeOver = new NetworkError("ABORTED", "the exchange is over");

class SimulatedRequest implements IncomingRequest {
  readonly #side: ServerSide;
  readonly method: string;
  readonly target: string;
  readonly headers: Headers;
  readonly body: AsyncIterable<Uint8Array>;
  readonly peer: string;

  constructor(
    side: ServerSide,
    opening: Frame & { kind: "open" },
    body: AsyncIterable<Uint8Array>,
    peer: string,
  ) {
    this.#side = side;
    this.method = opening.method;
    this.target = opening.target;
    this.headers = opening.headers;
    this.body = body;
    this.peer = peer;
  }

  get closed(): AbortSignal {
    return this.#side.closed;
  }
}

class SimulatedWriter implements BodyWriter {
  readonly #side: ServerSide;
  readonly #sender: BodySender;

  constructor(side: ServerSide, sender: BodySender) {
    this.#side = side;
    this.#sender = sender;
  }

  get pendingBytes(): number {
    return this.#sender.pendingBytes;
  }

  write(bytes: Uint8Array): void {
    this.#sender.write(bytes);
  }

  drained(): Promise<void> {
    return this.#sender.drained();
  }

  end(bytes?: Uint8Array): void {
    if (bytes !== undefined) this.#sender.write(bytes);
    this.#sender.end();
  }

  abort(): void {
    this.#side.leave();
  }
}
