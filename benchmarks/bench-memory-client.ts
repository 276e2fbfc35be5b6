// A client without a network: it measures the reflector alone.
import type { IncomingResponse } from "../src/environment/network.ts";
import type { KubeClient, KubeResponse } from "../src/kube/client/client.ts";

/** The size of one read from a socket. */
export const chunkBytes = 64 * 1024;

/** Serves the list and then the watch from memory, in chunks like a socket's. */
export class MemoryClient implements KubeClient {
  readonly #pages: readonly Buffer[];
  readonly #changes: Buffer;
  readonly #pageSize: number;
  /** When the first byte of the last watch was asked for. */
  watchedAt = 0;

  constructor(pages: readonly Buffer[], pageSize: number, changes: Buffer) {
    this.#pages = pages;
    this.#pageSize = pageSize;
    this.#changes = changes;
  }

  request(request: { readonly path: string }): Promise<KubeResponse> {
    const from = Number(new URL(request.path, "http://m").searchParams.get("continue") ?? 0);
    const body = this.#pages[from / this.#pageSize] ?? Buffer.alloc(0);
    return Promise.resolve({ status: 200, headers: {}, body });
  }

  stream(request: { readonly signal?: AbortSignal }): Promise<IncomingResponse> {
    const changes = this.#changes;
    const start = (): void => {
      this.watchedAt = performance.now();
    };
    async function* body(): AsyncGenerator<Uint8Array> {
      start();
      for (let at = 0; at < changes.length; at += chunkBytes) {
        yield changes.subarray(at, at + chunkBytes);
      }
      await aborted(request.signal);
    }
    return Promise.resolve({ status: 200, headers: {}, peer: "memory", body: body() });
  }
}

/** For a client whose list is all that counts: its watch never opens. */
export async function noWatch(request: {
  readonly signal?: AbortSignal;
}): Promise<IncomingResponse> {
  await aborted(request.signal);
  throw new Error("the watch was not needed");
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
    }
    signal?.addEventListener("abort", () => resolve());
  });
}
