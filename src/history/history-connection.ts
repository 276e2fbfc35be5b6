// Asks the history's thread, one request at a time.
import type {
  HistoryAnswer,
  HistoryPort,
  HistoryRequest,
  StartHistoryThread,
} from "./history-port.ts";

/** The thread is gone; so is what was asked last, and nothing more can be asked. */
export class HistoryThreadError extends Error {
  override readonly name = "HistoryThreadError";
  readonly code = "THREAD_ENDED";
}

interface Waiting {
  readonly resolve: (answer: HistoryAnswer) => void;
  readonly reject: (error: HistoryThreadError) => void;
}

export class HistoryConnection {
  readonly #port: HistoryPort;
  #waiting: Waiting | undefined;
  #ended: HistoryThreadError | undefined;

  constructor(start: StartHistoryThread) {
    this.#port = start({
      onAnswer: (answer) => {
        const waiting = this.#waiting;
        this.#waiting = undefined;
        waiting?.resolve(answer);
      },
      onEnded: (why) => {
        this.#ended ??= new HistoryThreadError(why);
        this.#waiting?.reject(this.#ended);
        this.#waiting = undefined;
      },
    });
  }

  ask(request: HistoryRequest): Promise<HistoryAnswer> {
    return new Promise((resolve, reject) => {
      if (this.#waiting !== undefined) throw new Error("the history was asked before it answered");
      if (this.#ended !== undefined) {
        reject(this.#ended);
        return;
      }
      this.#waiting = { resolve, reject };
      this.#port.post(request);
    });
  }

  async end(): Promise<void> {
    await this.#port.end();
  }
}
