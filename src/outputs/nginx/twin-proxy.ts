// A proxy without nginx, for simulations: the same control socket, the same choice of endpoint, the
// same retries and bounds, over the environment's network. One worker.
import type { Environment } from "../../environment/environment.ts";
import {
  type IncomingResponse,
  type Listener,
  NetworkError,
  type ServerExchange,
} from "../../environment/network.ts";
import { Deadline } from "../../kube/client/deadline.ts";
import { readBounded } from "../../kube/client/http-client-body.ts";
import { findService, pickEndpoint, type ServiceEndpoints } from "./balancer.ts";
import { TwinControl } from "./twin-control.ts";
import { TwinSuspects } from "./twin-suspects.ts";

export interface TwinProxyOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "network" | "processes"> {
  readonly socketPath: string;
  readonly listen: { readonly host: string; readonly port: number };
  /** The id of the run, as nginx would find it among its files. */
  readonly run?: string;
  /** The process that would replace this one; itself unless given. */
  readonly masterPid?: number;
}

/** As in proxy/nginx.conf: how long a request waits at a peer that is gone. */
export const connectTimeoutMs = 1_000;

/** As in proxy/lua/lockstep and proxy/nginx.conf. */
const mostTries = 3;
const loadPollMs = 20;
const loadPolls = 150;
const readTimeoutMs = 60_000;
const longestRequestBytes = 100 * 1024 * 1024;

/** A peer that fails so cannot be reached; a dead one may have seen the request all the same. */
const unreachable: ReadonlySet<string> = new Set(["REFUSED", "DEAD_PEER", "UNKNOWN_HOST"]);

/** nginx repeats no request of these methods once it was sent. */
const notIdempotent: ReadonlySet<string> = new Set(["POST", "PATCH", "LOCK"]);

export class TwinProxy {
  readonly #options: TwinProxyOptions;
  readonly #control: TwinControl;
  readonly #cursors = new Map<string, number>();
  readonly #suspects: TwinSuspects;
  readonly #listeners: Listener[] = [];

  constructor(options: TwinProxyOptions) {
    const { random, processes, run = "" } = options;
    const { pid } = processes;
    const masterPid = options.masterPid ?? pid;
    const identity = { bootId: random.uuid(), run, masterPid, workerPid: pid };
    this.#options = options;
    this.#suspects = new TwinSuspects(options);
    this.#control = new TwinControl(identity, this.#suspects);
  }

  async start(): Promise<void> {
    const { network, socketPath, listen } = this.#options;
    const control = { host: "localhost", port: 0, socketPath };
    this.#listeners.push(await network.listen(listen, (exchange) => this.#serve(exchange)));
    this.#listeners.push(await network.listen(control, this.#control.handle));
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener.close()));
  }

  async #serve(exchange: ServerExchange): Promise<void> {
    const visible = this.#control.visible ?? (await this.#firstLoad(exchange));
    if (visible === undefined) return answer(exchange, 503);
    const { headers, target } = exchange.request;
    const host = (headers["host"] ?? "").replace(/:\d+$/, "").toLowerCase();
    const [path = "/"] = target.split("?");
    const name = findService((one) => visible.hosts.get(one), host, path);
    if (name === undefined) return answer(exchange, 404);
    const service = visible.services.get(name);
    if (service === undefined || service.addresses.length === 0) return answer(exchange, 503);
    await this.#forward(exchange, name, service);
  }

  /** What is loaded soon after the start; undefined when nothing is. */
  async #firstLoad({ request }: ServerExchange): Promise<TwinControl["visible"]> {
    for (let poll = 0; poll < loadPolls && !request.closed.aborted; poll += 1) {
      await this.#options.timers.sleep(loadPollMs);
      if (this.#control.visible !== undefined) return this.#control.visible;
    }
    return undefined;
  }

  async #forward(exchange: ServerExchange, name: string, first: ServiceEndpoints): Promise<void> {
    const what = "a request to forward";
    const body = await readBounded(exchange.request.body, longestRequestBytes, what);
    const tried = new Set<string>();
    let service = first;
    for (let tries = 0; tries < mostTries; tries += 1) {
      service = this.#control.visible?.services.get(name) ?? service;
      const index = this.#pick(name, service, tried);
      if (index === undefined) break;
      tried.add(peerAt(service, index));
      const outcome = await this.#try(exchange, service, index, body);
      if (outcome === "answered") return;
      if (outcome === "sent" && notIdempotent.has(exchange.request.method)) break;
    }
    answer(exchange, 502);
  }

  #pick(name: string, service: ServiceEndpoints, tried: ReadonlySet<string>): number | undefined {
    const indexes = service.addresses.keys();
    const triedIndexes = new Set([...indexes].filter((one) => tried.has(peerAt(service, one))));
    const isSuspect = (slot: number): boolean => this.#suspects.isSuspect(slot);
    const cursor = this.#cursors.get(name) ?? 0;
    const pick = pickEndpoint(service, cursor, isSuspect, triedIndexes);
    if (pick !== undefined) this.#cursors.set(name, pick.cursor);
    return pick?.index;
  }

  /** `unreached`: no connection; `sent`: the peer may have seen the request. */
  async #try(
    exchange: ServerExchange,
    service: ServiceEndpoints,
    index: number,
    body: Uint8Array,
  ): Promise<"answered" | "unreached" | "sent"> {
    const { network, timers } = this.#options;
    const peer = peerAt(service, index);
    const slot = service.slots[index] ?? 0;
    const { closed: signal, headers, method, target } = exchange.request;
    const deadline = new Deadline({ timers, deadlineMs: readTimeoutMs, signal, what: peer });
    let response: IncomingResponse;
    try {
      const url = `http://${peer}${target}`;
      const { signal: ended } = deadline;
      const outgoing = { method, url, headers, body, connectTimeoutMs, signal: ended };
      response = await network.request(outgoing);
      deadline.met();
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
      if (unreachable.has(error.code)) this.#suspects.mark(slot);
      return error.code === "REFUSED" ? "unreached" : "sent";
    } finally {
      deadline.release();
    }
    this.#suspects.clear(slot);
    const writer = exchange.respond(response.status, response.headers);
    for await (const chunk of response.body) {
      writer.write(chunk);
      await writer.drained();
    }
    writer.end();
    return "answered";
  }
}

function peerAt(service: ServiceEndpoints, index: number): string {
  return `${service.addresses[index] ?? ""}:${service.ports[index] ?? 0}`;
}

function answer(exchange: ServerExchange, status: number): void {
  exchange.respond(status).end();
}
