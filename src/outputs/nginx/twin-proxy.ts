// A proxy without nginx, for simulations: the same control socket, the same choice of endpoint, the
// same retries and bounds, over the environment's network. One worker. Of a route's policy it knows
// the canaries, the balancing by hash and how many are tried; what else one asks is nginx's alone.
import type { PathRule } from "../../decide/decision.ts";
import type { Canary, RoutePolicy } from "../../decide/route-policy.ts";
import type { Environment } from "../../environment/environment.ts";
import {
  type IncomingResponse,
  type Listener,
  NetworkError,
  type ServerExchange,
} from "../../environment/network.ts";
import { Deadline } from "../../kube/client/deadline.ts";
import { readBounded } from "../../kube/client/http-client-body.ts";
import { splitObjectKey } from "../../kube/kinds/kind.ts";
import { type BalancedService, type Choice, pickInTurn } from "./balance.ts";
import { canaryWants } from "./canary-choice.ts";
import { hashKey } from "./hash-key.ts";
import { pickByKey } from "./ring.ts";
import { findRule } from "./route-match.ts";
import { uncountedSlot } from "./slot-table.ts";
import { TwinControl, type TwinMemorySizes, type TwinState } from "./twin-control.ts";
import { TwinCounters } from "./twin-counters.ts";
import { TwinSuspects } from "./twin-suspects.ts";

export interface TwinProxyOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "network" | "processes"> {
  readonly socketPath: string;
  readonly listen: { readonly host: string; readonly port: number };
  /** The id of the run, as nginx would find it among its files. */
  readonly run?: string;
  /** The process that would replace this one; itself unless given. */
  readonly masterPid?: number;
  /** Called after every word of Lockstep with what requests are routed by from then on. */
  readonly onPushed?: (state: TwinState) => void;
  /** How much it has room for; as proxy/nginx.conf has it unless given. */
  readonly memory?: TwinMemorySizes;
}

/** As in proxy/nginx.conf: how long a request waits at a peer that is gone. */
export const connectTimeoutMs = 500;

/** As in proxy/lua/lockstep and proxy/nginx.conf. */
const usualTries = 3;
const loadPollMs = 20;
const loadPolls = 150;
const readTimeoutMs = 60_000;
const longestRequestBytes = 100 * 1024 * 1024;

/** A peer that fails so cannot be reached; a dead one may have seen the request all the same. */
const unreachable: ReadonlySet<string> = new Set(["REFUSED", "DEAD_PEER", "UNKNOWN_HOST"]);

/** nginx repeats no request of these methods once it was sent. */
const notIdempotent: ReadonlySet<string> = new Set(["POST", "PATCH", "LOCK"]);

/** Where a request goes, and what its rule asks. */
interface Route {
  readonly name: string;
  readonly policy: RoutePolicy | undefined;
}

/** An endpoint of a service, as it stood when a request was to go there. */
interface Chosen {
  readonly name: string;
  readonly service: BalancedService;
  readonly index: number;
}

export class TwinProxy {
  readonly #options: TwinProxyOptions;
  readonly #control: TwinControl;
  readonly #cursors = new Map<string, number>();
  /** How many requests each canary's share has decided. */
  readonly #canaryTurns = new WeakMap<Canary, number>();
  readonly #suspects: TwinSuspects;
  readonly #counters: TwinCounters;
  readonly #listeners: Listener[] = [];

  constructor(options: TwinProxyOptions) {
    const { random, processes, run = "" } = options;
    const { pid } = processes;
    const masterPid = options.masterPid ?? pid;
    const identity = { bootId: random.uuid(), run, masterPid, workerPid: pid };
    this.#options = options;
    this.#suspects = new TwinSuspects(options);
    this.#counters = new TwinCounters(options.clock);
    this.#control = new TwinControl(identity, this.#suspects, this.#counters, options.memory);
  }

  async start(): Promise<void> {
    const { network, socketPath, listen } = this.#options;
    const control = { host: "localhost", port: 0, socketPath };
    this.#listeners.push(await network.listen(listen, (exchange) => this.#serve(exchange)));
    this.#listeners.push(await network.listen(control, (exchange) => this.#answer(exchange)));
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener.close()));
  }

  async #answer(exchange: ServerExchange): Promise<void> {
    await this.#control.handle(exchange);
    const { visible } = this.#control;
    if (visible !== undefined) this.#options.onPushed?.(visible);
  }

  async #serve(exchange: ServerExchange): Promise<void> {
    const visible = this.#control.visible ?? (await this.#firstLoad(exchange));
    if (visible === undefined) return answer(exchange, 503);
    const { headers, target, method } = exchange.request;
    const host = (headers["host"] ?? "").replace(/:\d+$/, "").toLowerCase();
    const [path = "/", search = ""] = target.split("?");
    const query = Object.fromEntries([...new URLSearchParams(search)].reverse());
    const { port } = this.#options.listen;
    const asked = { port, method, headers, query };
    const rule = findRule((one) => visible.host(one), host, path, asked)?.rule;
    if (rule === undefined) return answer(exchange, 404);
    if (rule.policy?.closed === true) return answer(exchange, 503);
    if (rule.policy?.refuse !== undefined) return answer(exchange, rule.policy.refuse);
    const canAnswer = (one: string): boolean =>
      one === "" || (visible.services.get(one)?.entry.addresses.length ?? 0) > 0;
    const name = this.#canaryOf(rule, headers, canAnswer) ?? rule.service;
    if (name === "") return answer(exchange, 500);
    const service = visible.services.get(name);
    if (service === undefined || !canAnswer(name)) return answer(exchange, 503);
    await this.#forward(exchange, { name, policy: rule.policy }, service);
  }

  /** The service of the first canary that wants the request and can answer it. */
  #canaryOf(
    { policy }: PathRule,
    headers: Readonly<Record<string, string>>,
    canAnswer: (service: string) => boolean,
  ): string | undefined {
    for (const canary of policy?.canaries ?? []) {
      const turn = this.#canaryTurns.get(canary) ?? 0;
      const { wants, byShare } = canaryWants(canary, { headers, turn });
      if (byShare) this.#canaryTurns.set(canary, turn + 1);
      if (wants && canAnswer(canary.service)) return canary.service;
    }
    return undefined;
  }

  /** The first load, if it comes soon after the start; undefined otherwise. */
  async #firstLoad({ request }: ServerExchange): Promise<TwinControl["visible"]> {
    for (let poll = 0; poll < loadPolls && !request.closed.aborted; poll += 1) {
      await this.#options.timers.sleep(loadPollMs);
      if (this.#control.visible !== undefined) return this.#control.visible;
    }
    return undefined;
  }

  async #forward(exchange: ServerExchange, route: Route, first: BalancedService): Promise<void> {
    const what = "a request to forward";
    const body = await readBounded(exchange.request.body, longestRequestBytes, what);
    const tried = new Set<string>();
    const { name, policy } = route;
    const { method, hashBy = [] } = policy?.balance ?? {};
    const key = method === "hash" ? hashKey(hashBy, exchange.request) : undefined;
    let service = first;
    for (let tries = 0; tries < (policy?.tries ?? usualTries); tries += 1) {
      service = this.#control.visible?.services.get(name) ?? service;
      const choice = this.#choice(service, tried);
      const index =
        key === undefined
          ? this.#pickInTurn(name, service, choice)
          : pickByKey(service, key, choice);
      if (index === undefined) break;
      tried.add(peerAt(service, index));
      const outcome = await this.#try(exchange, { name, service, index }, body);
      if (outcome === "answered") return;
      if (outcome === "sent" && notIdempotent.has(exchange.request.method)) break;
    }
    answer(exchange, 502);
  }

  #choice(service: BalancedService, tried: ReadonlySet<string>): Choice {
    const indexes = [...service.entry.addresses.keys()];
    return {
      isSuspect: (slot) => this.#suspects.isSuspect(slot),
      tried: new Set(indexes.filter((one) => tried.has(peerAt(service, one)))),
    };
  }

  #pickInTurn(name: string, service: BalancedService, choice: Choice): number | undefined {
    const pick = pickInTurn(service, this.#cursors.get(name) ?? 0, choice);
    if (pick !== undefined) this.#cursors.set(name, pick.cursor);
    return pick?.index;
  }

  /** `unreached`: no connection; `sent`: the peer may have seen the request. */
  async #try(
    exchange: ServerExchange,
    chosen: Chosen,
    body: Uint8Array,
  ): Promise<"answered" | "unreached" | "sent"> {
    const { network, timers } = this.#options;
    const { service, index } = chosen;
    const peer = peerAt(service, index);
    const slot = service.entry.slots[index] ?? 0;
    this.#suspects.try(slot);
    this.#counters.countRequest(slot);
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
      const slotNow = this.#slotNow(chosen);
      this.#counters.countFailure(slotNow);
      if (unreachable.has(error.code))
        this.#suspects.mark(slotNow, splitObjectKey(chosen.name).namespace);
      else this.#suspects.endTrial(slotNow);
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

  /**
   * Another Lockstep may have taken charge since the endpoint was chosen, and to that one slots mean
   * other endpoints.
   */
  #slotNow({ name, service, index }: Chosen): number {
    const now = this.#control.visible?.services.get(name);
    if (now === undefined) return uncountedSlot;
    const peer = peerAt(service, index);
    const indexNow = [...now.entry.addresses.keys()].find((one) => peerAt(now, one) === peer);
    return indexNow === undefined ? uncountedSlot : (now.entry.slots[indexNow] ?? uncountedSlot);
  }
}

function peerAt({ entry }: BalancedService, index: number): string {
  return `${entry.addresses[index] ?? ""}:${entry.ports[index] ?? 0}`;
}

function answer(exchange: ServerExchange, status: number): void {
  exchange.respond(status).end();
}
