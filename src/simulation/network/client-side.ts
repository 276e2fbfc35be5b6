// The client's side of an exchange: a promise of the answer, then its body. Its signal may end the
// exchange at any stage until the body has been read to its end.
import {
  type IncomingResponse,
  NetworkError,
  type OutgoingRequest,
} from "../../environment/network.ts";
import { BodyReceiver } from "./body-receiver.ts";
import { BodySender } from "./body-sender.ts";
import type { Exchange } from "./exchange.ts";
import { type Frame, lowerCaseNames } from "./frame.ts";

export class ClientSide {
  readonly #exchange: Exchange;
  readonly #request: OutgoingRequest;
  readonly #peer: string;
  readonly #body: BodyReceiver;
  readonly #onAbort: () => void;
  readonly sender: BodySender;
  readonly response: Promise<IncomingResponse>;
  #settle: { resolve: (response: IncomingResponse) => void; reject: (error: unknown) => void };

  constructor(
    exchange: Exchange,
    options: { request: OutgoingRequest; target: string; peer: string },
  ) {
    const { request, target } = options;
    this.#exchange = exchange;
    this.#request = request;
    this.#peer = options.peer;
    this.#settle = { resolve: () => undefined, reject: () => undefined };
    this.response = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#body = new BodyReceiver({
      onTake: (bytes) => exchange.creditServer(bytes),
      onFinish: (how) => {
        this.#forgetSignal();
        if (how === "left") exchange.clientLeft();
      },
    });
    this.#onAbort = () => this.#abort();
    request.signal?.addEventListener("abort", this.#onAbort, { once: true });
    this.sender = new BodySender({
      link: exchange.upLink,
      send: (frame) => exchange.up.send(frame),
    });
    exchange.up.send({
      kind: "open",
      method: request.method,
      target,
      headers: lowerCaseNames(request.headers ?? {}),
    });
    this.#sendBody(request.body);
  }

  receive(frame: Frame): void {
    if (frame.kind === "head") {
      const { status, headers } = frame;
      this.#settle.resolve({ status, headers, body: this.#body, peer: this.#peer });
    } else if (frame.kind === "data") this.#body.push(frame.bytes);
    else if (frame.kind === "end") this.#body.end();
    else if (frame.kind === "credit") this.sender.credit(frame.bytes);
  }

  /** The exchange broke; the exchange itself knows already. */
  fail(error: NetworkError): void {
    this.#forgetSignal();
    this.sender.stop();
    this.#settle.reject(error);
    this.#body.fail(error, { discard: false });
  }

  /** The program here is dead: it gets no more callbacks. */
  died(): void {
    this.#forgetSignal();
    this.sender.discard();
  }

  #abort(): void {
    const cause = this.#request.signal?.reason;
    const error = new NetworkError("ABORTED", `${this.#peer}: aborted by the caller`, { cause });
    this.#exchange.clientLeft();
    this.#settle.reject(error);
    this.#body.fail(error, { discard: true });
  }

  #forgetSignal(): void {
    this.#request.signal?.removeEventListener("abort", this.#onAbort);
  }

  #sendBody(body: OutgoingRequest["body"]): void {
    if (body === undefined || body instanceof Uint8Array) {
      if (body !== undefined) this.sender.write(body);
      this.sender.end();
      return;
    }
    this.#stream(body).catch((cause: unknown) => {
      const message = `${this.#peer}: the request's body failed`;
      this.#exchange.clientLeft();
      this.fail(new NetworkError("FAILED", message, { cause }));
    });
  }

  async #stream(body: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const bytes of body) {
      this.sender.write(bytes);
      await this.sender.drained();
      if (this.sender.stopped) return;
    }
    this.sender.end();
  }
}
