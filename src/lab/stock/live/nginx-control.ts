// Talks to the live stock proxy over its control socket: hands backends over, and finds out when
// what was handed over has taken effect. Every question is bounded in time.
import type { Environment } from "../../../environment/environment.ts";
import { NetworkError } from "../../../environment/network.ts";
import type { StockBackend } from "../stock-configuration.ts";

export interface NginxControlOptions extends Pick<Environment, "timers" | "network"> {
  readonly socketPath: string;
}

/** A control request is answered by a worker at once, or the worker is stuck. */
const requestTimeoutMs = 5_000;

/** How often it is asked whether something has taken effect: the error of the time reported. */
const askEveryMs = 20;

/** Ten times a worker's poll; a reload of the lab's few routes takes far less. */
const effectTimeoutMs = 10_000;

export type ControlQuestion = "generation" | "backends";

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
    return await this.#ask({ method: "POST", question: "backends", body }, signal);
  }

  /** Resolves when the answer has reached the generation; throws when that takes too long. */
  async reached(question: ControlQuestion, generation: number, signal: AbortSignal): Promise<void> {
    const { timers } = this.#options;
    const questions = Math.ceil(effectTimeoutMs / askEveryMs);
    for (let asked = 0; asked < questions; asked += 1) {
      if ((await this.#generation(question, signal)) >= generation) return;
      await timers.sleep(askEveryMs, signal);
    }
    const what = question === "generation" ? "the configuration" : "the backends";
    throw new NginxControlError(`nginx did not take ${what} within ${effectTimeoutMs} ms`);
  }

  /** Below every generation while nginx does not answer: it may be starting. */
  async #generation(question: ControlQuestion, signal: AbortSignal): Promise<number> {
    try {
      return await this.#ask({ method: "GET", question }, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof NetworkError) return -1;
      throw error;
    }
  }

  async #ask(
    asked: {
      readonly method: "GET" | "POST";
      readonly question: ControlQuestion;
      readonly body?: Uint8Array;
    },
    signal: AbortSignal,
  ): Promise<number> {
    const { network, timers, socketPath } = this.#options;
    const { question, ...request } = asked;
    const patience = new AbortController();
    const cancel = timers.after(requestTimeoutMs, () => {
      patience.abort(new NginxControlError(`nginx did not answer within ${requestTimeoutMs} ms`));
    });
    try {
      const response = await network.request({
        ...request,
        url: `http://nginx/configuration/${question}`,
        socketPath,
        signal: AbortSignal.any([signal, patience.signal]),
      });
      let text = "";
      for await (const chunk of response.body) text += Buffer.from(chunk).toString("utf8");
      if (response.status === 200 && /^\d+\n$/.test(text)) return Number(text);
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
