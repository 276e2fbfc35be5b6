// Measures one informer: how long the additions of its list and the updates of its watch take, and
// how much memory it keeps afterwards. Needs --expose-gc.

export interface InformerFigures {
  readonly listSeconds: number;
  readonly watchSeconds: number;
  readonly retainedBytes: number;
}

/** Times the additions of the list and the updates of the watch. */
export class InformerMeter {
  readonly #pods: number;
  readonly #events: number;
  #listed = 0;
  #updated = 0;
  #onListed: (() => void) | undefined;
  #onUpdated: (() => void) | undefined;

  constructor(expected: { readonly pods: number; readonly events: number }) {
    this.#pods = expected.pods;
    this.#events = expected.events;
  }

  note(type: string): void {
    if (type === "added") {
      this.#listed += 1;
      if (this.#listed === this.#pods) {
        this.#onListed?.();
      }
    } else {
      this.#updated += 1;
      if (this.#updated === this.#events) {
        this.#onUpdated?.();
      }
    }
  }

  async measure(start: () => void): Promise<InformerFigures> {
    const before = retained();
    const startedAt = performance.now();
    const listed = new Promise<number>((resolve) => {
      this.#onListed = () => resolve(performance.now());
    });
    const updated = new Promise<number>((resolve) => {
      this.#onUpdated = () => resolve(performance.now());
    });
    start();
    const listedAt = await listed;
    const updatedAt = await updated;
    return {
      listSeconds: (listedAt - startedAt) / 1000,
      watchSeconds: (updatedAt - listedAt) / 1000,
      retainedBytes: retained() - before,
    };
  }
}

function retained(): number {
  for (let times = 0; times < 3; times += 1) {
    globalThis.gc?.();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
