// The way from one machine to the API servers through the service `kubernetes`: a model of what
// kube-proxy makes of its Endpoints there. A new connection goes to a server that is listed at that
// moment. The mode decides about connections to a server that leaves the list: in iptables its
// entry in conntrack stays and so does the connection; in IPVS up to 1.12 the server was removed at
// once, and packets of its connections are dropped without a word until the client's kernel gives
// up.
//
// Every exchange has a connection of its own, as over HTTP/1.1. Toward clients the path is plain
// HTTP: it stands inside their machine.
import type { Environment } from "../../environment/environment.ts";
import {
  type ClientTls,
  type IncomingRequest,
  type IncomingResponse,
  type Listener,
  NetworkError,
  type ServerExchange,
} from "../../environment/network.ts";
import { randomBetween, randomInt } from "../../environment/random.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type Endpoints, endpointsKind } from "../../kube/kinds/endpoints.ts";
import { Reflector } from "../../kube/reflector/reflector.ts";
import { noChecks } from "../../kube/reflector/reflector-parts.ts";

export type ProxyMode = "iptables" | "ipvs";

export interface ServicePathOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "network" | "log"> {
  /** kube-proxy's own, which does not go through the service: it has a kubeconfig. */
  readonly client: KubeClient;
  readonly cluster: string;
  readonly mode: ProxyMode;
  /**
   * How long a connection that was cut off stays silent before the client's kernel gives up on it,
   * drawn for each between these; see `kernel-patience.ts`.
   */
  readonly silence: { readonly minMs: number; readonly maxMs: number };
  /** Where the machine's clients find the service; port 0 lets the system choose. */
  readonly host: string;
  readonly port: number;
  /** How the servers speak; plain HTTP when absent. */
  readonly tls?: ClientTls;
  /** Called as the list changes, with every address now on it. */
  readonly onServers?: (addresses: readonly string[]) => void;
}

interface Connection {
  readonly server: string;
  readonly exchange: ServerExchange;
  /** Ends the part toward the server. */
  readonly ended: AbortController;
}

export class ServicePath {
  readonly #options: ServicePathOptions;
  readonly #reflector: Reflector<Endpoints>;
  readonly #connections = new Set<Connection>();
  /** Timers of connections that were cut off, each of which ends its exchange. */
  readonly #silences = new Set<() => void>();
  /** `ip:port` of every server on the list. */
  #servers: readonly string[] = [];
  #cutOff = 0;
  #listener: Listener | undefined;

  constructor(options: ServicePathOptions) {
    this.#options = options;
    this.#reflector = new Reflector({
      ...options,
      kind: endpointsKind,
      namespace: "default",
      fieldSelector: "metadata.name=kubernetes",
      checks: noChecks,
      indexes: {},
      handlers: [() => this.#changed()],
    });
  }

  /** `http://host:port`; the port is known once started. */
  get url(): string {
    const { host, port } = this.#listener ?? this.#options;
    return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  }

  /** Connections that fell silent so far. */
  get cutOff(): number {
    return this.#cutOff;
  }

  /** Resolves when it knows the servers and takes connections. */
  async start(): Promise<void> {
    const { network, host, port } = this.#options;
    this.#reflector.start();
    await this.#reflector.waitForSync();
    this.#listener = await network.listen({ host, port }, (exchange) => this.#handle(exchange));
  }

  /** Breaks what is under way. Idempotent. */
  async stop(): Promise<void> {
    for (const cancel of this.#silences) cancel();
    for (const { ended } of this.#connections) ended.abort(new Error("the path is gone"));
    await this.#reflector.stop();
    await this.#listener?.close();
  }

  #changed(): void {
    const before = this.#servers;
    const subsets = this.#reflector.store.get("default", "kubernetes")?.subsets ?? [];
    this.#servers = subsets.flatMap(({ addresses, ports }) =>
      ports.flatMap(({ port }) => addresses.map(({ ip }) => hostPort(ip, port))),
    );
    if (before.join() === this.#servers.join()) return;
    this.#options.onServers?.(this.#servers);
    if (this.#options.mode === "iptables") return;
    for (const connection of this.#connections) {
      if (!this.#servers.includes(connection.server)) this.#silence(connection);
    }
  }

  async #handle(exchange: ServerExchange): Promise<void> {
    const server =
      this.#servers[randomInt(this.#options.random, Math.max(1, this.#servers.length))];
    if (server === undefined) {
      exchange.abort();
      return;
    }
    const connection = { server, exchange, ended: new AbortController() };
    this.#connections.add(connection);
    const onGone = (): void => connection.ended.abort(exchange.request.closed.reason);
    exchange.request.closed.addEventListener("abort", onGone, { once: true });
    try {
      await pass(exchange, await this.#send(connection), connection.ended.signal);
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
      // One that fell silent is broken later, when the kernel gives up.
      if (this.#connections.has(connection)) exchange.abort();
    } finally {
      exchange.request.closed.removeEventListener("abort", onGone);
      this.#connections.delete(connection);
    }
  }

  #send({ server, exchange, ended }: Connection): Promise<IncomingResponse> {
    const { network, tls } = this.#options;
    const { method, target, headers } = exchange.request;
    const body = bodyOf(exchange.request);
    return network.request({
      method,
      url: `${tls === undefined ? "http" : "https"}://${server}${target}`,
      headers,
      ...(body === undefined ? {} : { body }),
      ...(tls === undefined ? {} : { tls }),
      signal: ended.signal,
    });
  }

  /** From now on no byte passes; the server's end is closed, the client's end gets no signal. */
  #silence(connection: Connection): void {
    const { timers, random, silence } = this.#options;
    const silentMs = randomBetween(random, silence.minMs, silence.maxMs);
    this.#connections.delete(connection);
    this.#cutOff += 1;
    const over = timers.after(silentMs, () => {
      this.#silences.delete(over);
      connection.exchange.abort();
    });
    this.#silences.add(over);
    connection.ended.abort(new Error(`${connection.server} was taken off the list`));
  }
}

/** Chunk by chunk, at the speed of the slower side, until the connection is ended. */
async function pass(
  exchange: ServerExchange,
  response: IncomingResponse,
  ended: AbortSignal,
): Promise<void> {
  const writer = exchange.respond(response.status, response.headers);
  for await (const chunk of response.body) {
    if (ended.aborted) return;
    writer.write(chunk);
    await writer.drained();
  }
  writer.end();
}

/** Methods without a body are sent without one, or they would be sent in chunks. */
function bodyOf({ method, body }: IncomingRequest): AsyncIterable<Uint8Array> | undefined {
  return ["GET", "HEAD", "OPTIONS"].includes(method) ? undefined : body;
}

function hostPort(ip: string, port: number): string {
  return `${ip.includes(":") ? `[${ip}]` : ip}:${port}`;
}
