// One exchange as the server's handler sees it, over Node's request and response objects.
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Readable, Writable } from "node:stream";
import type { Log } from "../log.ts";
import {
  type BodyWriter,
  type ExchangeHandler,
  type Headers,
  type IncomingRequest,
  NetworkError,
  type ServerExchange,
} from "../network.ts";
import { socketAddress } from "./node-address.ts";
import { chunksOf } from "./node-body.ts";
import { plainHeaders } from "./node-headers.ts";
import { exchangeFailure } from "./node-network-errors.ts";

/** Of HTTP/1.1 or of HTTP/2. */
export interface NodeResponse extends Writable {
  statusCode: number;
  readonly headersSent: boolean;
  setHeader(name: string, value: string): unknown;
  addTrailers(trailers: Headers): void;
  flushHeaders?(): void;
  /** To another protocol. */
  readonly maySwitch?: boolean;
}

export async function handleExchange(
  message: IncomingMessage | Http2ServerRequest,
  response: NodeResponse,
  handler: ExchangeHandler,
  log: Log,
  body: Readable = message,
): Promise<void> {
  const closed = new AbortController();
  response.once("close", () => closed.abort(new NetworkError("ABORTED", "the exchange is over")));
  // A client that breaks the connection shows as `closed`; the error itself says no more.
  response.on("error", () => undefined);
  const answer = new Answer(response, closed.signal);
  const exchange: ServerExchange = {
    request: incoming(message, body, closed.signal),
    respond: (status, headers) => answer.begin(status, headers),
    abort: () => answer.abort(),
  };
  try {
    await handler(exchange);
  } catch (error) {
    const about = { method: message.method, target: message.url, error };
    if (closed.signal.aborted) {
      log.debug("a handler failed after its exchange was over", about);
      return;
    }
    log.error("a handler failed", about);
    answer.fail();
  }
}

function incoming(
  message: IncomingMessage | Http2ServerRequest,
  body: Readable,
  closed: AbortSignal,
): IncomingRequest {
  const method = message.method ?? "GET";
  const target = message.url ?? "/";
  const peer = socketAddress(message.socket);
  const what = `${method} ${target} from ${peer}`;
  return {
    method,
    target,
    headers: plainHeaders(message.headers),
    body: chunksOf(body, (error) => exchangeFailure(what, brokenBody(error))),
    peer,
    closed,
  };
}

/** However Node words it, a request body that stops early is a broken connection. */
function brokenBody(error: Error): Error {
  return Object.assign(new Error(error.message, { cause: error }), { code: "ECONNRESET" });
}

/**
 * The answer to one request. Invariant: after `begin`, headers are sent at the latest when the
 * current turn is over, so that a short answer travels with its headers and its length in one
 * packet, and a watch's headers do not wait for its first event.
 */
class Answer implements BodyWriter {
  readonly #response: NodeResponse;
  readonly #closed: AbortSignal;
  #begun = false;
  #ended = false;

  constructor(response: NodeResponse, closed: AbortSignal) {
    this.#response = response;
    this.#closed = closed;
  }

  begin(status: number, headers: Headers = {}): BodyWriter {
    if (this.#begun) throw new Error("the exchange was already answered");
    const isSwitch = status === 101 && this.#response.maySwitch === true;
    if (!isSwitch && (!Number.isInteger(status) || status < 200 || status > 599)) {
      throw new RangeError(`not a status to answer with: ${status}`);
    }
    this.#begun = true;
    this.#response.statusCode = status;
    for (const [name, value] of Object.entries(headers)) this.#response.setHeader(name, value);
    queueMicrotask(() => {
      if (this.#isOpen() && !this.#response.headersSent) this.#response.flushHeaders?.();
    });
    return this;
  }

  /** Answers for a handler that did not: 500 if nothing was sent, else a broken connection. */
  fail(): void {
    if (this.#begun) {
      this.abort();
      return;
    }
    const text = Buffer.from("internal error\n");
    this.begin(500, { "content-type": "text/plain; charset=utf-8" }).end(text);
  }

  write(bytes: Uint8Array): void {
    // An empty chunk would end a chunked body.
    if (this.#isOpen() && bytes.length > 0) this.#response.write(bytes);
  }

  get pendingBytes(): number {
    return this.#isOver() ? 0 : this.#response.writableLength;
  }

  drained(): Promise<void> {
    const response = this.#response;
    if (this.#isOver() || !response.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => {
      const settle = (): void => {
        response.off("drain", settle);
        response.off("close", settle);
        resolve();
      };
      response.on("drain", settle);
      response.on("close", settle);
    });
  }

  end(bytes?: Uint8Array, trailers?: Headers): void {
    if (!this.#isOpen()) return;
    this.#ended = true;
    if (trailers !== undefined) this.#response.addTrailers(trailers);
    this.#response.end(bytes);
  }

  abort(): void {
    this.#ended = true;
    this.#response.destroy();
  }

  #isOver(): boolean {
    return this.#closed.aborted || this.#response.destroyed;
  }

  #isOpen(): boolean {
    return !this.#ended && !this.#isOver();
  }
}
