// A client that does not depend on the one address it was given. Behind a service or load balancer,
// a watch can be cut off silently or be tied to a lagging server. So this client learns the
// servers' own addresses, checks which are ready, and uses one of them. When that server fails, or
// one of its watches is doubted, it uses another. The given address is used until a server has
// answered, and whenever none answers.

import { type IncomingResponse, type Network, NetworkError } from "../../environment/network.ts";
import type { Random } from "../../environment/random.ts";
import { endpointsKind } from "../kinds/endpoints.ts";
import { objectPath } from "../kinds/kind.ts";
import {
  DeadlineExceededError,
  type KubeClient,
  type KubeRequest,
  type KubeResponse,
  parseJson,
  StatusError,
} from "./client.ts";
import { orAborted } from "./deadline.ts";
import { HttpKubeClient, type HttpKubeClientOptions } from "./http-client.ts";
import { ServerAccess } from "./server-access.ts";
import { type Doubt, ServerList } from "./server-list.ts";
import { type MoveReason, type ServerMetrics, serverMetrics } from "./server-metrics.ts";

export interface DirectKubeClientOptions extends HttpKubeClientOptions {
  readonly random: Random;
  /** Go to servers by plain HTTP too, which proves nothing of them: for a lab that has no others. */
  readonly plainServers?: "trusted";
}

/** Where every cluster lists its API servers. */
export const apiServersService = { namespace: "default", name: "kubernetes" } as const;

/** A server in reach answers in milliseconds; the first request waits for this at most twice. */
const askDeadlineMs = 2_000;

/**
 * The health paths that load balancers use; the second is for servers before 1.16, which lack the
 * first.
 */
const readyPaths = ["/readyz", "/healthz"] as const;

export class DirectKubeClient implements KubeClient {
  readonly #options: DirectKubeClientOptions;
  readonly #given: HttpKubeClient;
  readonly #access: ServerAccess;
  readonly #network: Network;
  readonly #servers: ServerList;
  readonly #metrics: ServerMetrics;
  /** Servers that are being asked right now. */
  readonly #asking = new Map<string, Promise<void>>();
  /** The first look for servers; requests wait for it. */
  #begun: Promise<void> | undefined;

  constructor(options: DirectKubeClientOptions) {
    this.#options = options;
    this.#given = new HttpKubeClient(options);
    this.#access = new ServerAccess(options.cluster, options);
    this.#network = hurried(options.network);
    this.#servers = new ServerList(options);
    this.#metrics = serverMetrics(options.metrics, options.cluster.name);
  }

  request(request: KubeRequest): Promise<KubeResponse> {
    return this.#through(request.signal, (client) => client.request(request));
  }

  stream(request: KubeRequest): Promise<IncomingResponse> {
    return this.#through(request.signal, (client) => client.stream(request));
  }

  learnServers(addresses: readonly string[]): void {
    if (!this.#access.mayGoDirect) return;
    this.#note("unlisted", () => this.#servers.seen(addresses));
    this.#askResting();
  }

  doubtServer(address: string, why: Doubt): void {
    this.#note(why, () => this.#servers.doubted(address, why));
  }

  async #through<Answer>(
    signal: AbortSignal | undefined,
    send: (client: HttpKubeClient) => Promise<Answer>,
  ): Promise<Answer> {
    this.#begun ??= this.#begin();
    // One that is aborted meanwhile goes on: the client below words it.
    await (signal === undefined
      ? this.#begun
      : orAborted(this.#begun, signal).catch(() => undefined));
    this.#askResting();
    const server = this.#servers.current;
    try {
      return await send(server === undefined ? this.#given : this.#clientOf(server));
    } catch (error) {
      if (server !== undefined) this.#judge(server, error);
      throw error;
    }
  }

  #judge(server: string, error: unknown): void {
    if (saysServerIsGone(error)) this.#note("failed", () => this.#servers.failed(server));
    // It may be cut off from its storage; no balancer stands between that would have noticed.
    else if (error instanceof StatusError && error.code >= 500) this.#askAll([server]);
  }

  /** Lets the list take note, and tells people if another server is used from then on. */
  #note(why: MoveReason, take: () => void): void {
    const { cluster, log } = this.#options;
    const before = this.#servers.current;
    take();
    const now = this.#servers.current;
    this.#metrics.proved(this.#servers.proved);
    if (now === before) return;
    this.#metrics.moved(why);
    // The first server found may be the given address; then nothing changes.
    if (addressOf(before ?? cluster.server) === addressOf(now ?? cluster.server)) return;
    log.info("switching to another API server address", {
      cluster: cluster.name,
      why,
      before: before ?? cluster.server,
      now: now ?? cluster.server,
    });
  }

  /** One read at the given address, so that not even the first watch has to go through it. */
  async #begin(): Promise<void> {
    if (!this.#access.mayGoDirect) return;
    const { log, cluster } = this.#options;
    try {
      const response = await this.#given.request({
        verb: "get",
        method: "GET",
        path: objectPath(endpointsKind, apiServersService),
        deadlineMs: askDeadlineMs,
      });
      this.learnServers(serverAddresses(endpointsKind.project(parseJson(response)).subsets));
    } catch (error) {
      // The watch of all endpoints will tell, if it may.
      log.debug("the API servers are not known yet", { cluster: cluster.name, error });
    }
    await Promise.all(this.#asking.values());
  }

  /** In passing, with every request: there is always a next one, and it needs no timer. */
  #askResting(): void {
    this.#note("unlisted", () => this.#askAll(this.#servers.toAsk()));
  }

  #askAll(addresses: readonly string[]): void {
    for (const address of addresses) {
      if (!this.#asking.has(address)) this.#asking.set(address, this.#ask(address));
    }
  }

  /** Never rejects: the list has the result. */
  async #ask(address: string): Promise<void> {
    const isReady = await this.#isReady(address);
    this.#asking.delete(address);
    if (isReady) this.#note("answered", () => this.#servers.answered(address));
    else this.#note("failed", () => this.#servers.failed(address));
  }

  async #isReady(address: string): Promise<boolean> {
    const { cluster, log } = this.#options;
    for (const path of readyPaths) {
      const ask = { verb: "get", method: "GET", path, deadlineMs: askDeadlineMs } as const;
      try {
        await this.#clientOf(address).request(ask);
        return true;
      } catch (error) {
        if (error instanceof StatusError && error.code === 404) continue;
        log.debug("an API server is not ready", { cluster: cluster.name, address, error });
        return false;
      }
    }
    return false;
  }

  /** Made for each request: it holds nothing, and connections belong to the network. */
  #clientOf(address: string): HttpKubeClient {
    const cluster = this.#access.at(address);
    return new HttpKubeClient({ ...this.#options, network: this.#network, cluster });
  }
}

export interface PublishedServers {
  readonly addresses: readonly { readonly ip: string }[];
  readonly ports: readonly { readonly name: string; readonly port: number }[];
}

/** `host:port` of each; other ports than the API's, which is called `https`, are left out. */
export function serverAddresses(subsets: readonly PublishedServers[]): readonly string[] {
  return subsets.flatMap(({ addresses, ports }) =>
    ports
      .filter(({ name }) => name === "https" || name === "")
      .flatMap(({ port }) =>
        addresses.map(({ ip }) => `${ip.includes(":") ? `[${ip}]` : ip}:${port}`),
      ),
  );
}

/** A machine that has vanished is found out within the time in which one that is there answers. */
function hurried(network: Network): Network {
  return {
    listen: (options, handler) => network.listen(options, handler),
    request: (request) => network.request({ ...request, connectTimeoutMs: askDeadlineMs }),
  };
}

/** A connection that broke in use says nothing of the server; the next one will. */
function saysServerIsGone(error: unknown): boolean {
  if (error instanceof DeadlineExceededError) return true;
  return error instanceof NetworkError && error.code !== "ABORTED" && error.code !== "RESET";
}

/** `host:port`, of a server's URL too. */
function addressOf(server: string): string {
  if (!server.includes("://")) return server;
  const { hostname, port, protocol } = new URL(server);
  return `${hostname}:${port || (protocol === "http:" ? "80" : "443")}`;
}
