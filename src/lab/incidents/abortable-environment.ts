// The real environment with an end: everything that was started in it can be ended at once, wherever the
// play is. After that no timer fires, exchanges are broken, and code that waits for either waits for
// ever, as on a machine that was switched off. So an aborted play needs no cleanup of its own.
import { dirname } from "node:path";
import type { Environment } from "../../environment/environment.ts";
import type {
  ExchangeHandler,
  IncomingResponse,
  Listener,
  ListenOptions,
  OutgoingRequest,
} from "../../environment/network.ts";
import type { ChildProcess, Processes } from "../../environment/processes.ts";
import type { CancelTimer } from "../../environment/timers.ts";

export class AbortableEnvironment {
  readonly environment: Environment;
  readonly #real: Environment;
  readonly #ended = new AbortController();
  readonly #listeners = new Set<Listener>();
  readonly #timers = new Set<CancelTimer>();
  readonly #children = new Set<ChildProcess>();
  /** Programs that are being started or run to their end; they settle soon, and never reject. */
  readonly #starting = new Set<Promise<unknown>>();

  constructor(real: Environment) {
    this.#real = real;
    this.environment = {
      ...real,
      timers: {
        after: (delayMs, callback) => this.#after(delayMs, callback),
        sleep: (delayMs, signal) => this.#sleep(delayMs, signal),
        breathe: () => (this.#isOver ? never() : real.timers.breathe()),
      },
      network: {
        request: (request) => this.#request(request),
        listen: (options, handler) => this.#listen(options, handler),
      },
      processes: this.#processes(real.processes),
    };
  }

  /** Resolves when no socket, timer or child process is left. Idempotent. */
  async end(): Promise<void> {
    this.#ended.abort(new Error("the environment was ended"));
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    await Promise.all([...this.#listeners].map((listener) => listener.close()));
    this.#listeners.clear();
    await Promise.all(this.#starting);
    for (const child of this.#children) child.kill("SIGTERM");
    await Promise.all([...this.#children].map(({ exited }) => exited));
  }

  get #isOver(): boolean {
    return this.#ended.signal.aborted;
  }

  #processes(real: Processes): Processes {
    return {
      pid: real.pid,
      isRoot: real.isRoot,
      self: real.self,
      variables: real.variables,
      spawn: async (program, args, options) => {
        if (this.#isOver) return never();
        const child = await this.#started(real.spawn(program, args, options));
        this.#children.add(child);
        // It never rejects, so it needs no handler.
        void child.exited.then(() => this.#children.delete(child));
        return child;
      },
      run: (program, args, options) =>
        this.#isOver ? never() : this.#started(real.run(program, args, options)),
      isAlive: (pid) => real.isAlive(pid),
      kill: (pid, signal) => real.kill(pid, signal),
    };
  }

  async #started<Value>(starting: Promise<Value>): Promise<Value> {
    const settled = starting.then(
      () => undefined,
      () => undefined,
    );
    this.#starting.add(settled);
    try {
      return await this.#unlessEnded(starting);
    } finally {
      this.#starting.delete(settled);
    }
  }

  #after(delayMs: number, callback: () => void): CancelTimer {
    if (this.#isOver) return () => undefined;
    const cancelReal = this.#real.timers.after(delayMs, () => {
      this.#timers.delete(cancel);
      callback();
    });
    const cancel = (): void => {
      this.#timers.delete(cancel);
      cancelReal();
    };
    this.#timers.add(cancel);
    return cancel;
  }

  #sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isOver) return;
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const cancel = this.#after(delayMs, () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      });
      const onAbort = (): void => {
        cancel();
        if (!this.#isOver) reject(signal?.reason);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  async #request(request: OutgoingRequest): Promise<IncomingResponse> {
    const { signal: ended } = this.#ended;
    const signal = request.signal === undefined ? ended : AbortSignal.any([request.signal, ended]);
    const sent = this.#real.network.request({ ...request, signal });
    const response = await this.#unlessEnded(sent);
    return { ...response, body: this.#bodyUnlessEnded(response.body) };
  }

  async *#bodyUnlessEnded(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of body) yield chunk;
    } catch (error) {
      await this.#unlessEnded(Promise.reject(error));
    }
  }

  /** Creates the folder of a socket, because a simulated machine has every folder. */
  async #listen(options: ListenOptions, handler: ExchangeHandler): Promise<Listener> {
    const { socketPath } = options;
    if (socketPath !== undefined) await this.#real.files.makeDirectory(dirname(socketPath));
    const listener = await this.#unlessEnded(this.#real.network.listen(options, handler));
    if (this.#isOver) {
      await listener.close();
      return never();
    }
    this.#listeners.add(listener);
    return listener;
  }

  /** Stays pending after the end. */
  async #unlessEnded<Value>(promise: Promise<Value>): Promise<Value> {
    try {
      return await promise;
    } catch (error) {
      if (this.#isOver) return never();
      throw error;
    }
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
