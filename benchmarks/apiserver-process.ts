// A server of ours in a process of its own: starts it, asks for its processor time, ends it.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ServerAddress, ServerSort, ServerUsage } from "./apiserver-server.ts";
import { BenchServer } from "./bench-server.ts";

export class ServerProcess extends BenchServer {
  readonly #child: ChildProcess;

  /** `store` is the address of the etcd of a server that has one. */
  static async start(sort: ServerSort, store = ""): Promise<ServerProcess> {
    const program = fileURLToPath(new URL("./apiserver-server.js", import.meta.url));
    const startedAt = performance.now();
    const child = fork(program, [sort, store]);
    const address: ServerAddress = await heard(child);
    return new ServerProcess(child, address, performance.now() - startedAt);
  }

  private constructor(child: ChildProcess, address: ServerAddress, readyMs: number) {
    super({ address, readyMs, pid: child.pid ?? 0 });
    this.#child = child;
  }

  /** Finer than what the system counts. */
  override async cpuMicroseconds(): Promise<number> {
    this.#child.send("usage");
    const usage: ServerUsage = await heard(this.#child);
    return usage.cpuMicroseconds;
  }

  async stop(): Promise<void> {
    this.closeConnections();
    if (this.#child.connected) {
      const ended = once(this.#child, "exit");
      this.#child.disconnect();
      await ended;
    }
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
