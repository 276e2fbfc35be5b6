// A server of ours in a process of its own: starts it, asks for its processor time, ends it.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ServerAddress, ServerSort, ServerUsage } from "./apiserver-server.ts";
import { BenchServer } from "./bench-server.ts";
import { nextMessage } from "./child-message.ts";

export class ServerProcess extends BenchServer {
  readonly #child: ChildProcess;

  /** `store` is the address of the etcd of a server that has one. */
  static async start(sort: ServerSort, store = ""): Promise<ServerProcess> {
    const program = fileURLToPath(new URL("./apiserver-server.js", import.meta.url));
    const startedAt = performance.now();
    const child = fork(program, [sort, store]);
    const address: ServerAddress = await nextMessage(child);
    return new ServerProcess(child, address, performance.now() - startedAt);
  }

  private constructor(child: ChildProcess, address: ServerAddress, readyMs: number) {
    super({ address, readyMs, pid: child.pid ?? 0 });
    this.#child = child;
  }

  /** Finer than what the system counts. */
  override async cpuMicroseconds(): Promise<number> {
    this.#child.send("usage");
    const usage: ServerUsage = await nextMessage(this.#child);
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
