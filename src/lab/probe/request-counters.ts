// Counts the requests that clients send after their rate limit: how many of each verb, and how long the
// answers took. The rest of the workers' time was spent waiting for the rate limit.
import type { Clock } from "../../environment/clock.ts";
import { elapsedMs } from "../../environment/clock.ts";
import type { KubeClient, KubeRequest } from "../../kube/client/client.ts";

/** As the API server's metrics call them. */
export const verbs = ["GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "DELETE"] as const;
export type VerbName = (typeof verbs)[number];
export type ByVerb = Readonly<Record<VerbName, number>>;

export interface RequestReading {
  readonly requests: number;
  readonly serverMs: number;
  readonly byVerb: ByVerb;
}

export const noRequests: ByVerb = {
  GET: 0,
  LIST: 0,
  WATCH: 0,
  POST: 0,
  PUT: 0,
  PATCH: 0,
  DELETE: 0,
};

export class RequestCounters {
  readonly #clock: Clock;
  readonly #byVerb = { ...noRequests };
  #requests = 0;
  #serverMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  read(): RequestReading {
    return { requests: this.#requests, serverMs: this.#serverMs, byVerb: { ...this.#byVerb } };
  }

  /** The same client, counted. A watch counts as a request that takes no time. */
  counted(client: KubeClient): KubeClient {
    return {
      request: async (request) => {
        const startedAt = this.#clock.monotonicMs();
        try {
          return await client.request(request);
        } finally {
          this.#count(request, elapsedMs(startedAt, this.#clock.monotonicMs()));
        }
      },
      stream: (request) => {
        this.#count(request, 0);
        return client.stream(request);
      },
    };
  }

  #count({ verb, method }: KubeRequest, serverMs: number): void {
    const name = verb === "list" ? "LIST" : verb === "watch" ? "WATCH" : method;
    this.#byVerb[name] += 1;
    this.#requests += 1;
    this.#serverMs += serverMs;
  }
}
