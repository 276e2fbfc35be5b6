// nginx as the model has it, for virtual time: requests are real exchanges over the environment's
// network, and what the controller hands over takes effect after the modelled delays. New workers
// start with a reload, all at once, read the backends there are, and look again every second.
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { Listener, ServerExchange } from "../../../environment/network.ts";
import { randomInt } from "../../../environment/random.ts";
import { answerLine } from "../../traffic/relay.ts";
import { ingressNginx } from "../ingress-nginx.ts";
import type { StockBackend, StockServer } from "../stock-configuration.ts";
import { type OnRouted, RefusedConfigurationError, type StockPlane } from "../stock-plane.ts";
import { proxyRequest } from "./virtual-proxy.ts";
import { findLocation } from "./virtual-routes.ts";
import { VirtualWorker } from "./virtual-worker.ts";

export interface VirtualPlaneOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "network"> {
  readonly host: string;
  readonly port: number;
  /** Where it answers what it was handed over last, as ingress-nginx does; nowhere when absent. */
  readonly statusPort?: number;
  readonly onRouted?: OnRouted;
  /** The error of `nginx -t`; none when absent. */
  readonly refuse?: (servers: readonly StockServer[]) => string | undefined;
}

/** As many as the lab's real nginx has. */
const workerCount = 2;

/**
 * Fitted to nginx 1.22.1 with plain server blocks, 100 to 10,000 of them: `nginx -t` took 0.012 to
 * 0.48 s, and 0.023 to 1.47 s passed from the signal to an answer by the new configuration.
 */
const checkMs = { base: 7, perServer: 0.047 };
const reloadMs = { base: 8, perServer: 0.147 };

export class VirtualPlane implements StockPlane {
  readonly #options: VirtualPlaneOptions;
  #listener: Listener | undefined;
  #statusListener: Listener | undefined;
  #stopped = false;
  /** The servers at the start of the workers. */
  #servers: readonly StockServer[] = [];
  /** The shared dictionary, which every worker reads at its next poll. */
  #shared: readonly StockBackend[] = [];
  #workers: readonly VirtualWorker[] = [];
  /** When the present workers began: they poll a whole number of seconds later. */
  #workersSince: MonotonicMs;
  #cancelPoll: (() => void) | undefined;

  constructor(options: VirtualPlaneOptions) {
    this.#options = options;
    this.#workersSince = options.clock.monotonicMs();
  }

  get address(): string {
    const { host, port } = this.#listener ?? this.#options;
    return `${host}:${port}`;
  }

  async start(): Promise<void> {
    const { network, host, port, statusPort } = this.#options;
    this.#listener = await network.listen({ host, port }, (exchange) => this.#handle(exchange));
    if (statusPort !== undefined) {
      const status = { host, port: statusPort };
      this.#statusListener = await network.listen(status, (exchange) => this.#answer(exchange));
    }
    this.#startWorkers();
    if (this.#stopped) await this.#close();
  }

  async reload(servers: readonly StockServer[], signal: AbortSignal): Promise<void> {
    const { timers, refuse } = this.#options;
    await timers.sleep(checkMs.base + checkMs.perServer * servers.length, signal);
    const problem = refuse?.(servers);
    if (problem !== undefined) throw new RefusedConfigurationError(problem);
    await timers.sleep(reloadMs.base + reloadMs.perServer * servers.length, signal);
    this.#servers = servers;
    this.#startWorkers();
  }

  async push(backends: readonly StockBackend[]): Promise<void> {
    this.#shared = backends;
    if (this.#cancelPoll !== undefined) return;
    const { clock, timers } = this.#options;
    const sinceStartMs = elapsedMs(this.#workersSince, clock.monotonicMs());
    const delayMs = ingressNginx.backendPollMs - (sinceStartMs % ingressNginx.backendPollMs);
    this.#cancelPoll = timers.after(delayMs, () => this.#poll());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelPoll?.();
    await this.#close();
  }

  async #close(): Promise<void> {
    await Promise.all([this.#listener?.close(), this.#statusListener?.close()]);
  }

  /** The polls that would find nothing new are not made. */
  #poll(): void {
    this.#cancelPoll = undefined;
    for (const worker of this.#workers) worker.load(this.#shared);
    this.#options.onRouted?.(this.#shared, this.#options.clock.monotonicMs());
  }

  #startWorkers(): void {
    const { clock, random } = this.#options;
    this.#workersSince = clock.monotonicMs();
    this.#workers = Array.from({ length: workerCount }, () => new VirtualWorker({ random }));
    for (const worker of this.#workers) worker.load(this.#shared);
    if (this.#cancelPoll === undefined) return;
    // New workers have already read the data of the next poll.
    this.#cancelPoll();
    this.#cancelPoll = undefined;
    this.#options.onRouted?.(this.#shared, this.#workersSince);
  }

  #answer(exchange: ServerExchange): void {
    exchange.respond(200, {}).end(Buffer.from(JSON.stringify(this.#shared)));
  }

  async #handle(exchange: ServerExchange): Promise<void> {
    const { random } = this.#options;
    const { headers, target } = exchange.request;
    const location = findLocation(this.#servers, headers["host"] ?? "", target);
    const worker = this.#workers[randomInt(random, this.#workers.length)];
    if (location === undefined || worker === undefined) {
      answerLine(exchange, 404, "404 Not Found");
      return;
    }
    const pick = () => worker.pick(location.backend);
    await proxyRequest(exchange, { ...this.#options, pick });
  }
}
