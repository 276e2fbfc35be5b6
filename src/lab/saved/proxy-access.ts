// The access log of a proxy that runs in this process, written where its requests come in and go
// out: the proxy itself need not know. Stock has ingress-nginx's default format, Lockstep the JSON
// of its own nginx.conf. A request's tries are found by its path and query, which no two requests
// under way at once share in the lab.
import { createHash } from "node:crypto";
import type { PeerAddresses } from "../../apiserver/audit/peer-addresses.ts";
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { BodyWriter, Network, ServerExchange } from "../../environment/network.ts";

export type AccessForm = "ingress-nginx" | "lockstep";

export interface ProxyAccessOptions {
  readonly clock: Clock;
  readonly form: AccessForm;
  readonly peers: PeerAddresses;
  /** Its name, from which its requests get their ids. */
  readonly name: string;
  /** The service behind the route, as that proxy names it. */
  readonly upstreamName: string;
  readonly write: (line: string) => void;
}

interface Try {
  readonly address: string;
  readonly startedAt: MonotonicMs;
  status: string;
  seconds: string;
  isAnswered: boolean;
}

/** Of a pod's URL that names none. */
const defaultPort = "80";

/** The status in nginx's log when the client left first. */
const clientGoneStatus = 499;

export class ProxyAccess {
  readonly #options: ProxyAccessOptions;
  /** By path and query. */
  readonly #tries = new Map<string, Try[]>();
  #requests = 0;

  constructor(options: ProxyAccessOptions) {
    this.#options = options;
  }

  /** The network for the proxy; control sockets are left alone. */
  through(network: Network): Network {
    return {
      request: async (request) => {
        const { hostname, port, pathname, search } = new URL(request.url);
        const address = `${hostname}:${port === "" ? defaultPort : port}`;
        const one = this.#began(`${pathname}${search}`, address);
        try {
          const response = await network.request(request);
          this.#ended(one, String(response.status), true);
          return response;
        } catch (error) {
          this.#ended(one, "502", false);
          throw error;
        }
      },
      listen: (options, handler) =>
        options.socketPath === undefined
          ? network.listen(options, (exchange) => handler(this.#watched(exchange)))
          : network.listen(options, handler),
    };
  }

  #began(target: string, address: string): Try {
    const startedAt = this.#options.clock.monotonicMs();
    const one: Try = { address, startedAt, status: "-", seconds: "-", isAnswered: false };
    this.#tries.get(target)?.push(one);
    return one;
  }

  #ended(one: Try, status: string, isAnswered: boolean): void {
    one.status = status;
    one.isAnswered = isAnswered;
    one.seconds = seconds(elapsedMs(one.startedAt, this.#options.clock.monotonicMs()));
  }

  #watched(exchange: ServerExchange): ServerExchange {
    const { request } = exchange;
    const startedAt = this.#options.clock.monotonicMs();
    const answer = { status: clientGoneStatus, bytes: 0 };
    this.#tries.set(request.target, []);
    const over = (): void => {
      request.closed.removeEventListener("abort", over);
      const tries = this.#tries.get(request.target) ?? [];
      this.#tries.delete(request.target);
      this.#options.write(this.#line(exchange, answer, tries, startedAt));
    };
    request.closed.addEventListener("abort", over, { once: true });
    return {
      request,
      respond: (status, headers) => {
        answer.status = status;
        return counted(exchange.respond(status, headers), (bytes) => {
          answer.bytes += bytes;
        });
      },
      abort: () => exchange.abort(),
    };
  }

  #line(
    { request }: ServerExchange,
    answer: { readonly status: number; readonly bytes: number },
    tries: readonly Try[],
    startedAt: MonotonicMs,
  ): string {
    const { clock, form, peers, name, upstreamName } = this.#options;
    this.#requests += 1;
    const now = clock.wallMs();
    const common = {
      client: peers.address(request.peer),
      took: seconds(elapsedMs(startedAt, clock.monotonicMs())),
      addresses: joined(tries.map(({ address }) => address)),
      statuses: joined(tries.map(({ status }) => status)),
      times: joined(tries.map((one) => one.seconds)),
      // Not drawn: a run must be the same whether it is recorded or not.
      id: createHash("md5").update(`${name} ${this.#requests}`).digest("hex"),
    };
    const { client, took, addresses, statuses, times, id } = common;
    if (form === "ingress-nginx") {
      const agent = request.headers["user-agent"] ?? "-";
      // ngx_http_upstream_module writes a length for each try; that of a failed one is 0.
      const lengths = joined(tries.map(({ isAnswered }) => (isAnswered ? answer.bytes : 0)));
      return (
        `${client} - - [${nginxTime(now)}] "${request.method} ${request.target} HTTP/1.1" ` +
        `${answer.status} ${answer.bytes} "-" "${agent}" ${requestLength(request)} ${took} ` +
        `[${upstreamName}] [] ${addresses} ${lengths} ${times} ${statuses} ${id}`
      );
    }
    const text = (value: string): string => (value === "-" ? "" : value);
    return JSON.stringify({
      time: `${new Date(now).toISOString().slice(0, 19)}+00:00`,
      epochSeconds: Math.floor(now) / 1000,
      id,
      client,
      method: request.method,
      host: (request.headers["host"] ?? "").replace(/:\d+$/, ""),
      target: request.target,
      status: answer.status,
      bytes: answer.bytes,
      seconds: Number(took),
      service: upstreamName,
      upstream: text(addresses),
      upstreamStatus: text(statuses),
      responseSeconds: text(times),
    });
  }
}

function counted(writer: BodyWriter, onBytes: (bytes: number) => void): BodyWriter {
  return {
    write: (bytes) => {
      onBytes(bytes.length);
      writer.write(bytes);
    },
    get pendingBytes() {
      return writer.pendingBytes;
    },
    drained: () => writer.drained(),
    end: (bytes) => {
      onBytes(bytes?.length ?? 0);
      writer.end(bytes);
    },
    abort: () => writer.abort(),
  };
}

/** nginx separates tries by a comma, and writes a dash where there was none. */
function joined(values: readonly (string | number)[]): string {
  return values.length === 0 ? "-" : values.join(", ");
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

/** Of the request line and the headers, as they would be on the wire. */
function requestLength({ method, target, headers }: ServerExchange["request"]): number {
  const line = `${method} ${target} HTTP/1.1\r\n`.length;
  const fields = Object.entries(headers).map(([name, value]) => name.length + value.length + 4);
  return fields.reduce((sum, length) => sum + length, line + 2);
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** `15/Nov/2026:08:44:08 +0000`. */
function nginxTime(at: number): string {
  const date = new Date(at);
  const day = String(date.getUTCDate()).padStart(2, "0");
  const month = months[date.getUTCMonth()] ?? "";
  return `${day}/${month}/${date.getUTCFullYear()}:${date.toISOString().slice(11, 19)} +0000`;
}
