// A server that is being measured, wherever it runs: where it is, requests made for it as bytes, and
// what its process costs.
import { RawConnection } from "./apiserver-connection.ts";
import type { ServerAddress } from "./apiserver-server.ts";
import { cpuMicroseconds, residentMegabytes } from "./process-cost.ts";

export abstract class BenchServer {
  /** From the start of its process until it was ready. */
  readonly readyMs: number;
  readonly #address: ServerAddress;
  readonly #pid: number;
  readonly #connections: RawConnection[] = [];

  protected constructor(options: {
    readonly address: ServerAddress;
    readonly pid: number;
    readonly readyMs: number;
  }) {
    this.#address = options.address;
    this.#pid = options.pid;
    this.readyMs = options.readyMs;
  }

  abstract stop(): Promise<void>;

  async connect(): Promise<RawConnection> {
    const connection = await RawConnection.open(this.#address);
    this.#connections.push(connection);
    return connection;
  }

  async connectMany(count: number): Promise<readonly RawConnection[]> {
    return Promise.all(Array.from({ length: count }, () => this.connect()));
  }

  get(path: string): Buffer {
    return Buffer.from(`GET ${path} ${this.#head()}\r\n`);
  }

  post(path: string, object: object): Buffer {
    const body = Buffer.from(JSON.stringify(object));
    const type = `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
    return Buffer.concat([Buffer.from(`POST ${path} ${this.#head()}${type}\r\n`), body]);
  }

  /** Processor time so far, user and system. */
  async cpuMicroseconds(): Promise<number> {
    return cpuMicroseconds(this.#pid);
  }

  /** Memory of its process at this moment. */
  residentMegabytes(): number {
    return residentMegabytes(this.#pid);
  }

  protected closeConnections(): void {
    for (const connection of this.#connections) connection.close();
  }

  #head(): string {
    return `HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${this.#address.token}\r\n`;
  }
}
