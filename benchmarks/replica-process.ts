// The Lockstep replica's process (bench-ingress-replica.ts), as the benchmark sees it.
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { MonotonicMs } from "../src/environment/clock.ts";
import type {
  BenchReplicaOptions,
  ReplicaMessage,
  ReplicaUsage,
  RoutedChange,
} from "./bench-ingress-replica.ts";
import { sharedClockOffsetMs } from "./shared-clock.ts";

export interface ReplicaProcessOptions extends BenchReplicaOptions {
  /** Called with every change that is routed, at a time of this process's clock. */
  readonly onRouted: (change: RoutedChange, at: MonotonicMs) => void;
}

export class ReplicaProcess {
  readonly #child: ChildProcess;
  #onMessage: (message: ReplicaMessage) => void = () => undefined;

  /** Resolves when it serves. */
  static async start({ onRouted, ...options }: ReplicaProcessOptions): Promise<ReplicaProcess> {
    const path = fileURLToPath(new URL("./bench-ingress-replica.js", import.meta.url));
    const replica = new ReplicaProcess(fork(path, [JSON.stringify(options)]), onRouted);
    await replica.#next();
    return replica;
  }

  private constructor(child: ChildProcess, onRouted: ReplicaProcessOptions["onRouted"]) {
    this.#child = child;
    child.on("message", (message: ReplicaMessage) => {
      if (message.kind !== "routed") return this.#onMessage(message);
      for (const change of message.routed) {
        onRouted(change, (change.atMs - sharedClockOffsetMs) as MonotonicMs);
      }
    });
  }

  async usage(): Promise<ReplicaUsage> {
    const answer = this.#next();
    this.#child.send("usage");
    const message = await answer;
    if (message.kind !== "usage") throw new Error("the replica did not say what it uses");
    return message.usage;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** As kill -9; its nginx goes on. */
  async kill(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await ended;
  }

  /** Ends its nginx too. Idempotent. */
  async stop(): Promise<void> {
    if (!this.#child.connected) return;
    const stopped = this.#next();
    this.#child.send("stop");
    await stopped;
    this.#child.disconnect();
  }

  /** The next message that is no report; fails when the process ends instead. */
  #next(): Promise<ReplicaMessage> {
    return new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error("the replica's process has ended"));
      this.#child.once("exit", ended);
      this.#onMessage = (message) => {
        this.#child.off("exit", ended);
        resolve(message);
      };
    });
  }
}
