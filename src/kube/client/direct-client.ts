// A client that does not depend on the way to the API servers it was given. Through a service, and
// whatever balances it, a watch can be cut off without a word or be tied to a server that lags. So
// it learns the servers' own addresses, asks each whether it answers, and talks to one of them;
// when that one fails or a watch of it is doubted, to another. The given address is used until one
// has answered, and whenever none does: where the servers cannot be reached, nothing changes.

import { type IncomingResponse, NetworkError } from "../../environment/network.ts";
import type { Random } from "../../environment/random.ts";
import type { ClusterAccess } from "../credentials/credentials.ts";
import { endpointsKind } from "../kinds/endpoints.ts";
import { objectPath } from "../kinds/kind.ts";
import {
  DeadlineExceededError,
  type KubeClient,
  type KubeRequest,
  type KubeResponse,
  parseJson,
} from "./client.ts";
import { orAborted } from "./deadline.ts";
import { HttpKubeClient, type HttpKubeClientOptions } from "./http-client.ts";
import { type Doubt, ServerList } from "./server-list.ts";
import { serverMetrics } from "./server-metrics.ts";

export interface DirectKubeClientOptions extends HttpKubeClientOptions {
  readonly random: Random;
}

/** Where every cluster lists its API servers. */
export const apiServersService = { namespace: "default", name: "kubernetes" } as const;

/** A server in reach answers in milliseconds; the first request waits for this at most twice. */
const askDeadlineMs = 2_000;

export class DirectKubeClient implements KubeClient {
  readonly #options: DirectKubeClientOptions;
  readonly #given: HttpKubeClient;
  readonly #servers: ServerList;
  /** Servers that are being asked right now. */
  readonly #asking = new Map<string, Promise<void>>();
  /** The first look for servers; requests wait for it. */
  #begun: Promise<void> | undefined;

  constructor(options: DirectKubeClientOptions) {
    this.#options = options;
    this.#given = new HttpKubeClient(options);
    this.#servers = new ServerList(options);
  }

  request(request: KubeRequest): Promise<KubeResponse> {
    return this.#through(request.signal, (client) => client.request(request));
  }

  stream(request: KubeRequest): Promise<IncomingResponse> {
    return this.#through(request.signal, (client) => client.stream(request));
  }

  learnServers(addresses: readonly string[]): void {
    if (!this.#mayGoDirect()) return;
    this.#askAll(this.#servers.seen(addresses));
  }

  doubtServer(address: string, why: Doubt): void {
    this.#move(why, () => this.#servers.doubted(address, why));
  }

  async #through<Answer>(
    signal: AbortSignal | undefined,
    send: (client: HttpKubeClient) => Promise<Answer>,
  ): Promise<Answer> {
    this.#begun ??= this.#begin();
    await (signal === undefined ? this.#begun : orAborted(this.#begun, signal));
    const server = this.#servers.current;
    try {
      return await send(server === undefined ? this.#given : this.#clientOf(server));
    } catch (error) {
      if (server !== undefined && saysServerIsGone(error)) {
        this.#move("failed", () => this.#servers.failed(server));
      }
      throw error;
    }
  }

  #move(why: Doubt | "failed", note: () => void): void {
    const { cluster, log, metrics } = this.#options;
    const before = this.#servers.current;
    note();
    this.#askAll(this.#servers.toAsk());
    if (this.#servers.current === before) return;
    serverMetrics(metrics, cluster.name).moved(why);
    const now = this.#servers.current ?? cluster.server;
    log.info("another API server is used from now on", { cluster: cluster.name, why, before, now });
  }

  /** One read at the given address, so that not even the first watch has to go through it. */
  async #begin(): Promise<void> {
    if (!this.#mayGoDirect()) return;
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

  /** With a path there is a gateway at the given address, which has credentials of its own. */
  #mayGoDirect(): boolean {
    return new URL(this.#options.cluster.server).pathname === "/";
  }

  #askAll(addresses: readonly string[]): void {
    for (const address of addresses) {
      if (!this.#asking.has(address)) this.#asking.set(address, this.#ask(address));
    }
  }

  /** Never rejects: what comes of it shows in the list. */
  async #ask(address: string): Promise<void> {
    const answers = await this.#answers(address);
    const before = this.#servers.current;
    if (answers) this.#servers.answered(address);
    else this.#servers.failed(address);
    this.#asking.delete(address);
    this.#noteProved(before);
  }

  /** A server that is not verified gets to see no credentials. */
  async #answers(address: string): Promise<boolean> {
    const { cluster, log } = this.#options;
    const credentials = await cluster.credentials().catch(() => undefined);
    if (credentials === undefined || credentials.tls.insecureSkipVerify === true) return false;
    const ask = { verb: "get", method: "GET", path: "/version" } as const;
    try {
      await this.#clientOf(address).request({ ...ask, deadlineMs: askDeadlineMs });
      return true;
    } catch (error) {
      log.debug("an API server does not answer here", { cluster: cluster.name, address, error });
      return false;
    }
  }

  #noteProved(before: string | undefined): void {
    const { cluster, log, metrics } = this.#options;
    serverMetrics(metrics, cluster.name).proved(this.#servers.proved);
    const { current } = this.#servers;
    if (before !== undefined || current === undefined) return;
    log.info("an API server is used directly", { cluster: cluster.name, server: current });
  }

  /** Made for each request: it holds nothing, and connections belong to the network. */
  #clientOf(address: string): HttpKubeClient {
    const { cluster } = this.#options;
    return new HttpKubeClient({ ...this.#options, cluster: accessAt(cluster, address) });
  }
}

export interface PublishedServers {
  readonly addresses: readonly { readonly ip: string }[];
  readonly ports: readonly { readonly port: number }[];
}

/** `host:port` of each. */
export function serverAddresses(subsets: readonly PublishedServers[]): readonly string[] {
  return subsets.flatMap(({ addresses, ports }) =>
    ports.flatMap(({ port }) =>
      addresses.map(({ ip }) => `${ip.includes(":") ? `[${ip}]` : ip}:${port}`),
    ),
  );
}

/** The same credentials at another address. */
function accessAt(cluster: ClusterAccess, address: string): ClusterAccess {
  return {
    name: cluster.name,
    server: `${new URL(cluster.server).protocol}//${address}`,
    credentials: () => cluster.credentials(),
    invalidate: (refused) => cluster.invalidate(refused),
  };
}

/** A connection that broke in use says nothing of the server; the next one will. */
function saysServerIsGone(error: unknown): boolean {
  if (error instanceof DeadlineExceededError) return true;
  return error instanceof NetworkError && error.code !== "ABORTED" && error.code !== "RESET";
}
