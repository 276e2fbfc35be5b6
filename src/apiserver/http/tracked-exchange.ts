// One exchange as the server handles it: it knows whether the answer has begun, and adds to it what
// every answer of this request has, whoever gives it.
import type { BodyWriter, Headers, ServerExchange } from "../../environment/network.ts";

/** Knows whether an answer has begun, because after that only the connection can be broken. */
export class TrackedExchange implements ServerExchange {
  readonly request: ServerExchange["request"];
  readonly #exchange: ServerExchange;
  readonly #onResponding: (status: number) => void;
  #headers: Headers | undefined;
  #responded = false;

  constructor(exchange: ServerExchange, onResponding: (status: number) => void) {
    this.#exchange = exchange;
    this.#onResponding = onResponding;
    this.request = exchange.request;
  }

  get responded(): boolean {
    return this.#responded;
  }

  /** For the answer, whatever it will be. */
  addHeaders(headers: Headers): void {
    this.#headers = { ...this.#headers, ...headers };
  }

  respond(status: number, headers?: Headers): BodyWriter {
    this.#responded = true;
    this.#onResponding(status);
    const own = this.#headers;
    return this.#exchange.respond(status, own === undefined ? headers : joined(own, headers));
  }

  abort(): void {
    this.#exchange.abort();
  }
}

/** Warnings of both are told; of any other header the later counts. */
function joined(own: Headers, headers: Headers = {}): Headers {
  const [first, second] = [own["warning"], headers["warning"]];
  const warning = first !== undefined && second !== undefined ? `${first}, ${second}` : undefined;
  return { ...own, ...headers, ...(warning === undefined ? {} : { warning }) };
}
