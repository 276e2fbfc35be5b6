// The cheapest client there is: requests prepared as bytes on one TLS connection, answers counted
// and not parsed. So the figures are the server's, not those of an HTTP client.
import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";

export interface RawAnswer {
  readonly status: number;
  readonly bodyBytes: number;
  /** The body as it arrived. */
  readonly chunks: readonly Buffer[];
}

/** The answer that is arriving; `left` is known once its head is there. */
interface Arriving {
  readonly resolve: (answer: RawAnswer) => void;
  readonly reject: (error: Error) => void;
  readonly chunks: Buffer[];
  head: Buffer;
  status: number;
  bodyBytes: number;
  left: number | undefined;
  /** Of a body in chunks: the end of what has arrived, which tells whether it was the last. */
  tail: Buffer | undefined;
}

const headEnd = "\r\n\r\n";

/** A body in chunks ends in an empty one. JSON has no carriage returns, so nothing else looks so. */
const lastChunk = Buffer.from("\r\n0\r\n\r\n");
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

export class RawConnection {
  readonly #socket: TLSSocket;
  #arriving: Arriving | undefined;
  #onLines: ((count: number) => void) | undefined;
  #lastByte = 0;

  static async open(address: { port: number; ca: string }): Promise<RawConnection> {
    const socket = connect({ host: "127.0.0.1", port: address.port, ca: address.ca });
    socket.setNoDelay(true);
    await once(socket, "secureConnect");
    return new RawConnection(socket);
  }

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("error", (error) => this.#arriving?.reject(error));
    socket.on("close", () => this.#arriving?.reject(new Error("the server closed the connection")));
  }

  /**
   * One request and its whole answer, with a length or in chunks, whose sizes are left in the body.
   * One at a time.
   */
  exchange(request: Buffer): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      this.#arriving = {
        resolve,
        reject,
        chunks: [],
        head: Buffer.alloc(0),
        status: 0,
        bodyBytes: 0,
        left: undefined,
        tail: undefined,
      };
      this.#socket.write(request);
    });
  }

  /** Asks for a stream, whose complete lines are counted; resolves when its head has arrived. */
  async stream(request: Buffer, onLines: (count: number) => void): Promise<void> {
    this.#onLines = onLines;
    this.#socket.write(request);
    await once(this.#socket, "data");
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    if (this.#onLines !== undefined) {
      this.#countLines(chunk, this.#onLines);
    } else if (this.#arriving !== undefined) {
      this.#collect(chunk, this.#arriving);
    }
  }

  /** HTTP's own lines end in CR LF, those of a watch in LF alone. */
  #countLines(chunk: Buffer, onLines: (count: number) => void): void {
    let count = 0;
    for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, at + 1)) {
      const before = at === 0 ? this.#lastByte : chunk[at - 1];
      count += before === carriageReturn ? 0 : 1;
    }
    this.#lastByte = chunk[chunk.length - 1] ?? 0;
    if (count > 0) {
      onLines(count);
    }
  }

  #collect(chunk: Buffer, arriving: Arriving): void {
    let body = chunk;
    if (arriving.left === undefined) {
      const bytes = arriving.head.length === 0 ? chunk : Buffer.concat([arriving.head, chunk]);
      const end = bytes.indexOf(headEnd);
      if (end === -1) {
        arriving.head = bytes;
        return;
      }
      const head = bytes.toString("latin1", 0, end);
      arriving.status = Number(head.slice(9, 12));
      arriving.left = Number(/content-length: (\d+)/i.exec(head)?.[1]);
      if (/transfer-encoding: chunked/i.test(head)) arriving.tail = Buffer.alloc(0);
      body = bytes.subarray(end + headEnd.length);
    }
    arriving.left -= body.length;
    arriving.bodyBytes += body.length;
    arriving.chunks.push(body);
    // A missing length is not a number: then nothing is left to wait for either.
    if (arriving.tail === undefined ? !(arriving.left > 0) : isLastChunk(arriving, body)) {
      this.#finish(arriving);
    }
  }

  #finish(arriving: Arriving): void {
    this.#arriving = undefined;
    const { status, bodyBytes, chunks } = arriving;
    arriving.resolve({ status, bodyBytes, chunks });
  }
}

function isLastChunk(arriving: Arriving, body: Buffer): boolean {
  const tail = Buffer.concat([arriving.tail ?? Buffer.alloc(0), body.subarray(-lastChunk.length)]);
  arriving.tail = tail.subarray(-lastChunk.length);
  return arriving.tail.equals(lastChunk);
}
