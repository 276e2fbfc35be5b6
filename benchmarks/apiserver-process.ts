// The parent's end of a server process of the benchmark: starts it, asks for its processor time,
// makes requests for it, ends it.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { RawConnection } from "./apiserver-connection.ts";
import type { ServerAddress, ServerUsage } from "./apiserver-server.ts";

export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #address: ServerAddress;
  readonly #connections: RawConnection[] = [];

  static async start(sort: "lab" | "bare"): Promise<ServerProcess> {
    const program = fileURLToPath(new URL("./apiserver-server.js", import.meta.url));
    const child = fork(program, [sort]);
    const address: ServerAddress = await heard(child);
    return new ServerProcess(child, address);
  }

  private constructor(child: ChildProcess, address: ServerAddress) {
    this.#child = child;
    this.#address = address;
  }

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
    this.#child.send("usage");
    const usage: ServerUsage = await heard(this.#child);
    return usage.cpuMicroseconds;
  }

  async stop(): Promise<void> {
    for (const connection of this.#connections) {
      connection.close();
    }
    if (this.#child.connected) {
      const ended = once(this.#child, "exit");
      this.#child.disconnect();
      await ended;
    }
  }

  #head(): string {
    return `HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${this.#address.token}\r\n`;
  }
}

/** The next message; a process that ends instead would be waited for in vain. */
async function heard<Message>(child: ChildProcess): Promise<Message> {
  const over = new AbortController();
  const ended = once(child, "exit", { signal: over.signal }).then(() => {
    throw new Error("the server process has ended");
  });
  try {
    const [message]: Message[] = await Promise.race([once(child, "message"), ended]);
    if (message === undefined) {
      throw new Error("the server process sent nothing");
    }
    return message;
  } finally {
    // The other promise of the race fails with this, and nobody waits for it any more.
    ended.catch(() => undefined);
    over.abort();
  }
}
