// Talks to the live stock proxy over its control socket: hands backends over, and finds out when
// what was handed over has taken effect. Every question is bounded in time.
import type { WallMs } from "../../../environment/clock.ts";
import type { Environment } from "../../../environment/environment.ts";
import { NetworkError } from "../../../environment/network.ts";
import type { StockBackend } from "../stock-configuration.ts";

export interface NginxControlOptions extends Pick<Environment, "timers" | "network"> {
  readonly socketPath: string;
}

/** A control request is answered by a worker at once, or the worker is stuck. */
const requestTimeoutMs = 5_000;

/** How often it is asked whether a configuration has taken effect. */
const askEveryMs = 20;

/** Ten times a worker's poll; a reload of the lab's few routes takes far less. */
const effectTimeoutMs = 10_000;

/** The backends that every worker uses. */
export interface TakenBackends {
  readonly generation: number;
  /** When the last worker took it up, by nginx's own clock; undefined where it does not know. */
  readonly at: WallMs | undefined;
}

interface Question {
  readonly method: "GET" | "POST";
  readonly about: "generation" | "backends";
  readonly body?: Uint8Array;
}

export class NginxControlError extends Error {
  override readonly name = "NginxControlError";
  readonly code = "NGINX_CONTROL";
}

export class NginxControl {
  readonly #options: NginxControlOptions;

  constructor(options: NginxControlOptions) {
    this.#options = options;
  }

  /** Answers the generation that the workers will have seen when they route by it. */
  async push(backends: readonly StockBackend[], signal: AbortSignal): Promise<number> {
    const body = Buffer.from(JSON.stringify(backends.map(handedOver)));
    const [generation] = await this.#ask({ method: "POST", about: "backends", body }, signal);
    return generation;
  }

  async taken(signal: AbortSignal): Promise<TakenBackends> {
    const [generation, seconds] = await this.#ask({ method: "GET", about: "backends" }, signal);
    return { generation, at: seconds > 0 ? ((seconds * 1_000) as WallMs) : undefined };
  }

  /** Resolves when workers serve by the configuration; throws when that takes too long. */
  async configured(generation: number, signal: AbortSignal): Promise<void> {
    const { timers } = this.#options;
    const questions = Math.ceil(effectTimeoutMs / askEveryMs);
    for (let asked = 0; asked < questions; asked += 1) {
      if ((await this.#generation(signal)) >= generation) return;
      await timers.sleep(askEveryMs, signal);
    }
    throw new NginxControlError(`nginx did not take the configuration in ${effectTimeoutMs} ms`);
  }

  /** Below every generation while nginx does not answer: it may be starting. */
  async #generation(signal: AbortSignal): Promise<number> {
    try {
      const [generation] = await this.#ask({ method: "GET", about: "generation" }, signal);
      return generation;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof NetworkError) return -1;
      throw error;
    }
  }

  /** A generation, and seconds since 1970, or 0 where none are answered. */
  async #ask(question: Question, signal: AbortSignal): Promise<readonly [number, number]> {
    const { network, timers, socketPath } = this.#options;
    const { about, ...request } = question;
    const patience = new AbortController();
    const cancel = timers.after(requestTimeoutMs, () => {
      patience.abort(new NginxControlError(`nginx did not answer within ${requestTimeoutMs} ms`));
    });
    try {
      const response = await network.request({
        ...request,
        url: `http://nginx/configuration/${about}`,
        socketPath,
        signal: AbortSignal.any([signal, patience.signal]),
      });
      let text = "";
      for await (const chunk of response.body) text += Buffer.from(chunk).toString("utf8");
      const [, generation, seconds = "0"] = /^(\d+)(?: ([\d.]+))?\n$/.exec(text) ?? [];
      if (response.status === 200 && generation !== undefined) {
        return [Number(generation), Number(seconds)];
      }
      throw new NginxControlError(`nginx answered ${response.status}: ${text.trim()}`);
    } finally {
      cancel();
    }
  }
}

/** In the words of ingress-nginx's controller (Backend in pkg/apis/ingress/types.go). */
function handedOver({ name, endpoints }: StockBackend): object {
  return {
    name,
    endpoints: endpoints.map(({ address, port }) => ({ address, port: String(port) })),
  };
}
