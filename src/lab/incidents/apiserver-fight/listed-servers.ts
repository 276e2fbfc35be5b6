// Which API servers the Endpoints of `kubernetes` listed, and when: what `kubectl get endpoints
// kubernetes --watch` would have shown. The questions asked of that history are pure.
import type { Environment } from "../../../environment/environment.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { type Endpoints, endpointsKind } from "../../../kube/kinds/endpoints.ts";
import { Reflector } from "../../../kube/reflector/reflector.ts";

export interface ListedServersOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  /** On the time of the stage. */
  readonly now: () => number;
}

export interface Listed {
  readonly atMs: number;
  readonly addresses: readonly string[];
}

export interface Period {
  readonly fromMs: number;
  readonly toMs: number;
}

export class ListedServers {
  readonly #reflector: Reflector<Endpoints>;
  /** Bounded by the length of a play: a few changes a second at the most. */
  readonly #history: Listed[] = [];

  constructor(options: ListedServersOptions) {
    this.#reflector = new Reflector({
      ...options,
      kind: endpointsKind,
      namespace: "default",
      fieldSelector: "metadata.name=kubernetes",
      indexes: {},
      handlers: [
        ({ object }) =>
          this.#history.push({
            atMs: options.now(),
            addresses: object.subsets.flatMap((subset) => subset.addresses.map(({ ip }) => ip)),
          }),
      ],
    });
  }

  get history(): readonly Listed[] {
    return this.#history;
  }

  async start(): Promise<void> {
    this.#reflector.start();
    await this.#reflector.waitForSync();
  }

  /** Idempotent. */
  stop(): Promise<void> {
    return this.#reflector.stop();
  }
}

/** How often the list became another in this time. */
export function listChanges(history: readonly Listed[], { fromMs, toMs }: Period): number {
  return history.filter(
    ({ atMs, addresses }, index) =>
      atMs > fromMs &&
      atMs <= toMs &&
      index > 0 &&
      addresses.join() !== history[index - 1]?.addresses.join(),
  ).length;
}

/** The fewest and the most addresses at any moment of the history. */
export function listedCounts(history: readonly Listed[]): {
  readonly fewest: number;
  readonly most: number;
} {
  const counts = history.map(({ addresses }) => addresses.length);
  return { fewest: Math.min(...counts), most: Math.max(...counts) };
}

/** The share of changes after which the same list shows as `servers` changes before: turns. */
export function shareInTurn(history: readonly Listed[], servers: number): number | undefined {
  const later = history.slice(servers);
  if (later.length === 0) return undefined;
  const same = later.filter(
    ({ addresses }, index) => addresses.join() === history[index]?.addresses.join(),
  );
  return same.length / later.length;
}
