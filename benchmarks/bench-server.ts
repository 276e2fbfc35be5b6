// A server that is being measured, wherever it runs: where it is, requests made for it as bytes, and
// what its process costs.
import { readFileSync } from "node:fs";
import { RawConnection } from "./apiserver-connection.ts";
import type { ServerAddress } from "./apiserver-server.ts";

/** USER_HZ, in which /proc counts, is 100 on every Linux there is. */
const microsecondsPerTick = 10_000;

/** Where user and system time are in /proc/PID/stat, after the name in parentheses. */
const userTime = 11;
const systemTime = 12;

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
    const stat = readFileSync(`/proc/${this.#pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = Number(fields[userTime]) + Number(fields[systemTime]);
    return ticks * microsecondsPerTick;
  }

  /** Memory of its process at this moment. */
  residentMegabytes(): number {
    const status = readFileSync(`/proc/${this.#pid}/status`, "utf8");
    const [, kilobytes = "0"] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
    return (Number(kilobytes) * 1024) / 1e6;
  }

  protected closeConnections(): void {
    for (const connection of this.#connections) connection.close();
  }

  #head(): string {
    return `HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${this.#address.token}\r\n`;
  }
}
