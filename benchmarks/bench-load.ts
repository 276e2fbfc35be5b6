// A process that asks a proxy as fast as it answers: a fixed number of connections, each with one
// request under way, over a list of hosts. It uses as little processor time as node can, because it
// shares the machine with what it measures.
//
// Invariant: every answer has the length of the first one, which was read with care; any other is
// counted as an error and ends its connection.
import { connect, type Socket } from "node:net";
import { LatencyHistogram } from "./latency-histogram.ts";

/** The argument of the process. */
export interface LoadTarget {
  readonly port: number;
  readonly path: string;
  readonly hosts: HostRange;
  readonly connections: number;
  /** Each connection rests so long between an answer and its next request; not at all when absent. */
  readonly restMs?: number;
}

/** `name` with each number below `count` in place of its `#`. */
export interface HostRange {
  readonly name: string;
  readonly count: number;
}

/** The answer to `end`. */
export interface LoadResult {
  readonly requests: number;
  /** Answers other than 200, and connections that broke. */
  readonly errors: number;
  readonly elapsedMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const address = "127.0.0.1";

/** An answer of the backend fits several times. */
const bufferBytes = 4096;

const expectedStatus = Buffer.from("HTTP/1.1 200");
const headEnd = Buffer.from("\r\n\r\n");

/** Far from 1 and prime to the number of hosts: neighbours in the list are not asked together. */
const stride = 7919;

/** Between two attempts at a server that refuses. */
const reconnectMs = 20;

class Load {
  readonly #port: number;
  readonly #requests: readonly Buffer[];
  readonly #sockets = new Set<Socket>();
  readonly #connections: number;
  readonly #restMs: number;
  readonly #histogram = new LatencyHistogram();
  #answerBytes = 0;
  #next = 0;
  #errors = 0;
  #startedAt = 0;
  #runs = false;

  constructor({ port, path, hosts, connections, restMs = 0 }: LoadTarget) {
    this.#port = port;
    this.#restMs = restMs;
    this.#connections = connections;
    this.#requests = Array.from({ length: hosts.count }, (_, number) => {
      const host = hosts.name.replace("#", String(number));
      return Buffer.from(`GET ${path} HTTP/1.1
Host: ${host}

`);
    });
  }

  begin(): void {
    this.#histogram.clear();
    this.#errors = 0;
    this.#runs = true;
    this.#startedAt = performance.now();
    for (let number = 0; number < this.#connections; number += 1) this.#open();
  }

  end(): LoadResult {
    const elapsedMs = performance.now() - this.#startedAt;
    this.#runs = false;
    for (const socket of this.#sockets) socket.destroy();
    const histogram = this.#histogram;
    return {
      requests: histogram.count,
      errors: this.#errors,
      elapsedMs,
      p50Ms: histogram.percentile(0.5),
      p99Ms: histogram.percentile(0.99),
    };
  }

  #open(): void {
    const buffer = Buffer.allocUnsafe(bufferBytes);
    let received = 0;
    let askedAt = 0;
    const ask = (): void => {
      received = 0;
      this.#next = (this.#next + stride) % this.#requests.length;
      askedAt = performance.now();
      const request = this.#requests[this.#next];
      if (request !== undefined) socket.write(request);
    };
    const callback = (bytes: number): boolean => {
      if (received === 0 && this.#isWrong(buffer, bytes)) {
        this.#errors += 1;
        socket.destroy();
        return true;
      }
      received += bytes;
      if (received >= this.#answerBytes) {
        this.#histogram.add(performance.now() - askedAt);
        if (this.#restMs > 0) setTimeout(() => this.#runs && ask(), this.#restMs);
        else if (this.#runs) ask();
      }
      return true;
    };
    const socket = connect({
      port: this.#port,
      host: address,
      noDelay: true,
      onread: { buffer, callback },
    });
    this.#sockets.add(socket);
    socket.once("connect", ask);
    socket.on("error", () => {
      this.#errors += this.#runs ? 1 : 0;
    });
    socket.once("close", () => {
      this.#sockets.delete(socket);
      if (this.#runs) setTimeout(() => this.#runs && this.#open(), reconnectMs);
    });
  }

  /** Whether these are not the first bytes of a good answer; learns how long one is. */
  #isWrong(buffer: Buffer, bytes: number): boolean {
    if (buffer.compare(expectedStatus, 0, expectedStatus.length, 0, expectedStatus.length) !== 0)
      return true;
    if (this.#answerBytes === 0) this.#answerBytes = answerBytes(buffer.subarray(0, bytes));
    return false;
  }
}

function answerBytes(answer: Buffer): number {
  const end = answer.indexOf(headEnd);
  const head = answer.toString("latin1", 0, end);
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  if (end < 0 || length === undefined) throw new Error("the backend must answer with a length");
  return end + headEnd.length + Number(length);
}

const load = new Load(JSON.parse(process.argv[2] ?? "{}"));
process.on("message", (order) => {
  if (order === "begin") load.begin();
  process.send?.(order === "end" ? load.end() : { done: true });
});
process.send?.({ done: true });
