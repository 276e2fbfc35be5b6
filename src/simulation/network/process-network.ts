// The network of one simulated process: `Environment.network` in a simulation. When the process
// ends, its listeners close and its exchanges break, and it gets no more callbacks.
import type { Log } from "../../environment/log.ts";
import {
  type ExchangeHandler,
  type IncomingResponse,
  type Listener,
  type ListenOptions,
  type Network,
  NetworkError,
  type OutgoingRequest,
} from "../../environment/network.ts";
import type { SimulatedNetwork } from "../simulated-network.ts";
import { never, type ProcessEnd, type SimulatedProcess } from "../simulated-process.ts";
import type { Trace } from "../trace.ts";
import type { VirtualTime } from "../virtual-time.ts";
import { anyAddress, isLoopback, listenerKey, parseTarget, unixKey } from "./address.ts";
import { Exchange } from "./exchange.ts";
import type { Machine } from "./machine.ts";
import { SimulatedListener } from "./simulated-listener.ts";

/** Ports of the clients' ends, as Linux chooses them. */
const clientPorts = { first: 32_768, count: 28_232 };

const allInterfaces: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

interface Destination {
  readonly machine: Machine;
  readonly target: string;
  /** `host:port`, or the socket's path. */
  readonly peer: string;
  readonly find: () => SimulatedListener | undefined;
}

export class ProcessNetwork implements Network {
  readonly #time: VirtualTime;
  readonly #trace: Trace;
  readonly #process: SimulatedProcess;
  readonly #machine: Machine;
  readonly #fabric: SimulatedNetwork;
  readonly #log: Log;
  readonly #exchanges = new Set<Exchange>();
  readonly #listeners = new Set<SimulatedListener>();

  constructor(options: {
    time: VirtualTime;
    trace: Trace;
    process: SimulatedProcess;
    machine: Machine;
    fabric: SimulatedNetwork;
    log: Log;
  }) {
    this.#time = options.time;
    this.#trace = options.trace;
    this.#process = options.process;
    this.#machine = options.machine;
    this.#fabric = options.fabric;
    this.#log = options.log;
    this.#process.onEnd((end) => this.#die(end));
  }

  request(request: OutgoingRequest): Promise<IncomingResponse> {
    if (this.#process.ended) return never();
    if (request.signal?.aborted === true) {
      const cause = request.signal.reason;
      return Promise.reject(new NetworkError("ABORTED", "aborted before it began", { cause }));
    }
    const destination = this.#destination(request);
    if (destination instanceof NetworkError) return Promise.reject(destination);
    const { machine, target, peer, find } = destination;
    const id = this.#fabric.nextExchangeId();
    const exchange = new Exchange({
      time: this.#time,
      trace: this.#trace,
      id,
      up: this.#fabric.link(this.#machine, machine),
      down: this.#fabric.link(machine, this.#machine),
      request,
      target,
      peer,
      accept: (accepted, opening) => find()?.accept(accepted, opening, this.#clientAddress(id)),
      onClientOver: (over) => this.#exchanges.delete(over),
    });
    this.#exchanges.add(exchange);
    return exchange.client.response;
  }

  listen(options: ListenOptions, handler: ExchangeHandler): Promise<Listener> {
    if (this.#process.ended) return never();
    const { listeners } = this.#machine;
    const port = options.socketPath === undefined ? options.port || this.#machine.choosePort() : 0;
    const key =
      options.socketPath === undefined
        ? this.#bind(options.host, port)
        : unixKey(options.socketPath);
    if (key === undefined || listeners.has(key)) {
      const where = options.socketPath ?? `${options.host}:${port}`;
      return Promise.reject(new NetworkError("ADDRESS_IN_USE", `${where} is taken`));
    }
    const listener = new SimulatedListener({
      host: options.socketPath ?? options.host,
      port,
      handler,
      log: this.#log,
      onStopAccepting: () => listeners.delete(key),
      onClose: () => this.#listeners.delete(listener),
    });
    listeners.set(key, listener);
    this.#listeners.add(listener);
    return Promise.resolve(listener);
  }

  /** The key to listen under; undefined when another machine has the address. */
  #bind(address: string, port: number): string | undefined {
    if (address === this.#machine.name || allInterfaces.has(address)) {
      return listenerKey(anyAddress, port);
    }
    if (!isLoopback(address) && !this.#fabric.claim(address, this.#machine)) return undefined;
    return listenerKey(address, port);
  }

  #destination(request: OutgoingRequest): Destination | NetworkError {
    const parsed = parseTarget(request.url);
    if (parsed === undefined) return new NetworkError("FAILED", `not a URL: ${request.url}`);
    const { address, port, target } = parsed;
    const { socketPath } = request;
    if (socketPath !== undefined) {
      const machine = this.#machine;
      const find = () => machine.listeners.get(unixKey(socketPath));
      return { machine, target, peer: socketPath, find };
    }
    const machine = this.#fabric.resolve(address, this.#machine);
    if (machine === undefined) {
      return new NetworkError("UNKNOWN_HOST", `${address}: no such host`);
    }
    const find = () => machine.listenerAt(address, port);
    return { machine, target, peer: `${address}:${port}`, find };
  }

  #clientAddress(id: number): string {
    return `${this.#machine.name}:${clientPorts.first + (id % clientPorts.count)}`;
  }

  #die(end: ProcessEnd): void {
    for (const listener of this.#listeners) listener.died(end);
    for (const exchange of this.#exchanges) exchange.clientDied(end);
  }
}
