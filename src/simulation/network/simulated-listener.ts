// A listener of a simulated process: finds its handler for each exchange that arrives, and breaks
// them all when it closes or its process dies.

import type { Log } from "../../environment/log.ts";
import type { ExchangeHandler, Listener } from "../../environment/network.ts";
import type { ProcessEnd } from "../simulated-process.ts";
import type { Exchange } from "./exchange.ts";
import type { Frame } from "./frame.ts";
import { ServerSide } from "./server-side.ts";

const plainText = { "content-type": "text/plain; charset=utf-8" };

export class SimulatedListener implements Listener {
  readonly host: string;
  readonly port: number;
  readonly #handler: ExchangeHandler;
  readonly #log: Log;
  readonly #onStopAccepting: () => void;
  readonly #onClose: () => void;
  readonly #open = new Set<ServerSide>();
  #accepts = true;
  #closed = false;

  constructor(options: {
    host: string;
    port: number;
    handler: ExchangeHandler;
    log: Log;
    /** Called once: the listener cannot be found from here on. */
    onStopAccepting: () => void;
    onClose: () => void;
  }) {
    this.host = options.host;
    this.port = options.port;
    this.#handler = options.handler;
    this.#log = options.log;
    this.#onStopAccepting = options.onStopAccepting;
    this.#onClose = options.onClose;
  }

  accept(exchange: Exchange, opening: Frame & { kind: "open" }, peer: string): ServerSide {
    const side = new ServerSide({
      exchange,
      opening,
      peer,
      handle: (started) => this.#handle(started),
      onOver: (over) => this.#open.delete(over),
    });
    this.#open.add(side);
    return side;
  }

  stopAccepting(): void {
    if (!this.#accepts) return;
    this.#accepts = false;
    this.#onStopAccepting();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.stopAccepting();
    this.#onClose();
    for (const side of this.#open) side.leave();
  }

  died(end: ProcessEnd): void {
    this.#closed = true;
    this.stopAccepting();
    this.#onClose();
    for (const side of this.#open) side.died(end);
    this.#open.clear();
  }

  #handle(side: ServerSide): void {
    try {
      const handled = this.#handler(side);
      if (handled !== undefined) handled.catch((error: unknown) => this.#failed(side, error));
    } catch (error) {
      this.#failed(side, error);
    }
  }

  #failed(side: ServerSide, error: unknown): void {
    const about = { method: side.request.method, target: side.request.target, error };
    if (side.over) {
      this.#log.debug("a handler failed after its exchange was over", about);
      return;
    }
    this.#log.error("a handler failed", about);
    if (side.responded) side.leave();
    else side.respond(500, plainText).end(Buffer.from("internal error\n"));
  }
}
