// The answer to a request for another protocol, which Node gives to the server with its bare connection.
// After 101 the bytes of both sides follow as they are; after any other status the connection ends.
import { STATUS_CODES } from "node:http";
import { type Duplex, Writable } from "node:stream";
import type { NodeResponse } from "./node-server-exchange.ts";

type Done = (error?: Error | null) => void;

export class UpgradeResponse extends Writable implements NodeResponse {
  readonly maySwitch = true;
  statusCode = 200;
  headersSent = false;
  readonly #connection: Duplex;
  readonly #headers: (readonly [name: string, value: string])[] = [];

  constructor(connection: Duplex) {
    super();
    this.#connection = connection;
    connection.once("close", () => this.destroy());
  }

  setHeader(name: string, value: string): void {
    this.#headers.push([name, value]);
  }

  addTrailers(): void {
    // HTTP/1.1 may lose them.
  }

  flushHeaders(): void {
    if (this.headersSent) return;
    this.headersSent = true;
    const last = this.statusCode === 101 ? [] : [["connection", "close"] as const];
    const lines = [...this.#headers, ...last].map(([name, value]) => `${name}: ${value}\r\n`);
    const reason = STATUS_CODES[this.statusCode] ?? "";
    this.#connection.write(`HTTP/1.1 ${this.statusCode} ${reason}\r\n${lines.join("")}\r\n`);
  }

  override _write(chunk: Uint8Array, _encoding: string, done: Done): void {
    this.flushHeaders();
    this.#connection.write(chunk, done);
  }

  override _final(done: Done): void {
    this.flushHeaders();
    this.#connection.end(done);
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#connection.destroy();
    done(error);
  }
}
