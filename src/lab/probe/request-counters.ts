// Counts what clients send once their rate limit has let them: how many requests of which verb, and
// how long the server took over them. With the time the workers were at it this tells who made them
// wait.
import type { Clock } from "../../environment/clock.ts";
import { elapsedMs } from "../../environment/clock.ts";
import type { KubeClient, KubeRequest } from "../../kube/client/client.ts";

/** As the API server's metrics call them. */
export const verbs = ["GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "DELETE"] as const;
export type VerbName = (typeof verbs)[number];
export type ByVerb = Readonly<Record<VerbName, number>>;

export interface SentReading {
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

export class SentRequests {
  readonly #clock: Clock;
  readonly #byVerb = { ...noRequests };
  #requests = 0;
  #serverMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  read(): SentReading {
    return { requests: this.#requests, serverMs: this.#serverMs, byVerb: { ...this.#byVerb } };
  }

  /** The same client, counted. Watches are, but take no time: they are no work. */
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
