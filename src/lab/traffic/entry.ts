// Stands for the load balancer in front of several ingress replicas: gives each request to the next
// replica in turn. A replica that refuses the connection is left out for a second and the request
// goes to another, for it has not been sent; whatever else goes wrong the client sees, as through a
// balancer of connections. It knows nothing of hosts, paths or pods.
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import {
  type IncomingRequest,
  type IncomingResponse,
  type Listener,
  NetworkError,
  type ServerExchange,
} from "../../environment/network.ts";
import { answerLine, relayAnswer } from "./relay.ts";

export interface EntryReplica {
  readonly name: string;
  /** `host:port`. */
  readonly address: string;
  /** As a Service lists its ready pods; always unless given. */
  readonly isListed?: () => boolean;
}

export interface EntryOptions extends Pick<Environment, "clock" | "network"> {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly replicas: readonly EntryReplica[];
}

export interface ReplicaCounts {
  readonly name: string;
  /** Requests it took, whatever became of them. */
  readonly requests: number;
  readonly refused: number;
  /** Of the requests, those that broke before an answer. */
  readonly broken: number;
}

export interface EntryCounts {
  readonly requests: number;
  /** Requests that no replica took. */
  readonly unserved: number;
  readonly replicas: readonly ReplicaCounts[];
}

/** Said in the answer, so that a result can be attributed. */
export const replicaHeader = "x-replica";

/** How long a replica that refused is left out. */
const skipMs = 1_000;

interface Replica extends EntryReplica {
  readonly counts: { requests: number; refused: number; broken: number };
  refusedAt: MonotonicMs | undefined;
}

export class Entry {
  readonly #options: EntryOptions;
  readonly #replicas: readonly Replica[];
  #listener: Listener | undefined;
  #requests = 0;
  #unserved = 0;
  /** The index of the replica whose turn it is. */
  #turn = 0;

  constructor(options: EntryOptions) {
    this.#options = options;
    this.#replicas = options.replicas.map((replica) => ({
      ...replica,
      counts: { requests: 0, refused: 0, broken: 0 },
      refusedAt: undefined,
    }));
  }

  /** `http://host:port`; the port is known once started. */
  get url(): string {
    const { host, port } = this.#listener ?? this.#options;
    return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  }

  get counts(): EntryCounts {
    return {
      requests: this.#requests,
      unserved: this.#unserved,
      replicas: this.#replicas.map(({ name, counts }) => ({ name, ...counts })),
    };
  }

  async start(): Promise<void> {
    const { network, host, port } = this.#options;
    this.#listener = await network.listen({ host, port }, (exchange) => this.#handle(exchange));
  }

  /** Breaks what is under way. Idempotent. */
  async stop(): Promise<void> {
    await this.#listener?.close();
  }

  async #handle(exchange: ServerExchange): Promise<void> {
    this.#requests += 1;
    const body = new BodyOnce(exchange.request);
    for (const replica of this.#inTurn()) {
      try {
        const response = await this.#send(replica, exchange.request, body);
        replica.counts.requests += 1;
        await relayAnswer(exchange, response, { [replicaHeader]: replica.name });
        return;
      } catch (error) {
        if (!(error instanceof NetworkError)) throw error;
        if (error.code !== "REFUSED" || body.wasTouched) {
          replica.counts.requests += 1;
          replica.counts.broken += exchange.request.closed.aborted ? 0 : 1;
          exchange.abort();
          return;
        }
        replica.counts.refused += 1;
        replica.refusedAt = this.#options.clock.monotonicMs();
      }
    }
    this.#unserved += 1;
    answerLine(exchange, 503, "no ingress replica takes connections");
  }

  /** Every replica once, beginning with the one whose turn it is; those left out come last. */
  #inTurn(): readonly Replica[] {
    const now = this.#options.clock.monotonicMs();
    const all = this.#replicas.filter(({ isListed }) => isListed?.() !== false);
    const rotated = all.map((_, index) => all[(this.#turn + index) % all.length]);
    this.#turn = (this.#turn + 1) % Math.max(1, all.length);
    const order = rotated.filter((replica) => replica !== undefined);
    const isSkipped = ({ refusedAt }: Replica): boolean =>
      refusedAt !== undefined && elapsedMs(refusedAt, now) < skipMs;
    return [
      ...order.filter((replica) => !isSkipped(replica)),
      ...order.filter((replica) => isSkipped(replica)),
    ];
  }

  #send(replica: Replica, request: IncomingRequest, body: BodyOnce): Promise<IncomingResponse> {
    const { method, target, headers, closed } = request;
    return this.#options.network.request({
      method,
      url: `http://${replica.address}${target}`,
      headers,
      ...(body.isExpected ? { body } : {}),
      signal: closed,
    });
  }
}

/** A request's body on its way through: a request can go elsewhere only while it is untouched. */
class BodyOnce implements AsyncIterable<Uint8Array> {
  readonly #request: IncomingRequest;
  wasTouched = false;

  constructor(request: IncomingRequest) {
    this.#request = request;
  }

  /** Methods without a body are sent without one, or they would be sent in chunks. */
  get isExpected(): boolean {
    return !["GET", "HEAD", "OPTIONS"].includes(this.#request.method);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    this.wasTouched = true;
    return this.#request.body[Symbol.asyncIterator]();
  }
}
