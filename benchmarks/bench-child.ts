// A process of the benchmark's own, forked from one of the files beside: it is given one argument,
// says so when it is ready, answers orders one at a time, and ends with us.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { nextMessage } from "./child-message.ts";

export class BenchChild {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Gives the first message too. `program` is the file's name without its ending. */
  static async start<Ready>(
    program: string,
    argument: object,
  ): Promise<{ readonly child: BenchChild; readonly ready: Ready }> {
    const path = fileURLToPath(new URL(`./${program}.js`, import.meta.url));
    const child = fork(path, [JSON.stringify(argument)]);
    return { child: new BenchChild(child), ready: await nextMessage<Ready>(child) };
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async ask<Answer>(order: string | object): Promise<Answer> {
    const answer = nextMessage<Answer>(this.#child);
    this.#child.send(order);
    return await answer;
  }

  /** Idempotent. The process ends itself when its parent is gone. */
  async stop(): Promise<void> {
    if (!this.#child.connected) return;
    const ended = once(this.#child, "exit");
    this.#child.disconnect();
    await ended;
  }
}
