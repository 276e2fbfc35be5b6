// The simulated network: machines by name, the links between them, and the exchanges that run over
// them; and every fault that can befall it. It carries exchanges, not packets, so that one costs a
// few events. Each process reaches it through its own `ProcessNetwork`.

import type { Log } from "../environment/log.ts";
import { deadPeerMs } from "../environment/network.ts";
import { isLoopback } from "./network/address.ts";
import type { Exchange } from "./network/exchange.ts";
import { type Latency, type Link, uniformLatency } from "./network/link.ts";
import { Links } from "./network/links.ts";
import { Machine } from "./network/machine.ts";
import { ProcessNetwork } from "./network/process-network.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Trace } from "./trace.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface SimulatedNetworkOptions {
  readonly time: VirtualTime;
  readonly trace: Trace;
  readonly seed: number;
  /** Between two machines; `defaultLatency` unless given. */
  readonly latency?: Latency;
}

/** One data centre. */
export const defaultLatency = uniformLatency(0.2, 1);

export class SimulatedNetwork {
  readonly #options: SimulatedNetworkOptions;
  readonly #machines = new Map<string, Machine>();
  /** Addresses that lead to a machine beside its name. */
  readonly #addresses = new Map<string, Machine>();
  readonly #links: Links;
  #exchanges = 0;

  constructor(options: SimulatedNetworkOptions) {
    this.#options = options;
    const { seed, latency = defaultLatency } = options;
    this.#links = new Links({ seed, latency });
  }

  /** Exchanges ever begun. */
  get exchanges(): number {
    return this.#exchanges;
  }

  /** Exchanges that have not ended. */
  openExchanges(): number {
    let count = 0;
    for (const link of this.#links.all()) count += link.exchanges.size;
    return count;
  }

  networkOf(process: SimulatedProcess, log: Log): ProcessNetwork {
    const machine = this.machine(process.host.name);
    const { time, trace } = this.#options;
    return new ProcessNetwork({ time, trace, process, machine, log, fabric: this });
  }

  machine(name: string): Machine {
    let machine = this.#machines.get(name);
    if (machine === undefined) {
      machine = new Machine(name);
      this.#machines.set(name, machine);
    }
    return machine;
  }

  /** Where an address leads, seen from a machine. */
  resolve(address: string, from: Machine): Machine | undefined {
    if (isLoopback(address)) return from;
    return this.#machines.get(address) ?? this.#addresses.get(address);
  }

  /** Lets an address lead to a machine; false while another one listens on it. */
  claim(address: string, machine: Machine): boolean {
    const owner = this.#machines.get(address) ?? this.#addresses.get(address);
    if (owner !== undefined && owner !== machine) {
      if (this.#machines.has(address) || owner.listensOn(address)) return false;
    }
    this.#addresses.set(address, machine);
    return true;
  }

  nextExchangeId(): number {
    this.#exchanges += 1;
    return this.#exchanges;
  }

  link(from: Machine, to: Machine): Link {
    return this.#links.between(from, to);
  }

  /** Changes how long messages take both ways, from now on; undefined for the usual latency. */
  setLatency(a: string, b: string, latency: Latency | undefined): void {
    this.#note(`latency ${a} ${b}`);
    const usual = latency ?? this.#options.latency ?? defaultLatency;
    for (const link of this.#both(a, b)) link.latency = usual;
  }

  /** Breaks every exchange between two machines: both sides see RESET now. */
  resetConnections(a: string, b: string): void {
    this.#note(`reset ${a} ${b}`);
    for (const exchange of this.#exchangesBetween(a, b)) exchange.breakBoth("RESET");
  }

  /** Nothing passes either way until `heal`. */
  partition(a: string, b: string): void {
    this.partitionOneWay(a, b);
    this.partitionOneWay(b, a);
  }

  /** Nothing passes from one to the other; exchanges die all the same, for want of answers. */
  partitionOneWay(from: string, to: string): void {
    this.#note(`partition ${from} ${to}`);
    const link = this.link(this.machine(from), this.machine(to));
    link.cut = true;
    this.#refresh(link);
  }

  /** Ends the partition of two machines, both ways: what was held is delivered in order. */
  heal(a: string, b: string): void {
    this.#note(`heal ${a} ${b}`);
    for (const link of this.#both(a, b)) link.cut = false;
    for (const link of this.#both(a, b)) this.#refresh(link);
  }

  healOneWay(from: string, to: string): void {
    this.#note(`heal one way ${from} ${to}`);
    const link = this.link(this.machine(from), this.machine(to));
    link.cut = false;
    this.#refresh(link);
  }

  /** Cuts a machine off from all others, until `rejoin`. */
  isolate(name: string): void {
    this.#setIsolated(name, "isolate", true);
  }

  rejoin(name: string): void {
    this.#setIsolated(name, "rejoin", false);
  }

  /**
   * Bytes silently stop from one machine to the other, while their connections stay alive: no
   * error is seen until `unstall`. Only exchanges open now, unless `scope` is "all".
   */
  stall(from: string, to: string, scope: "open" | "all" = "open"): void {
    this.#note(`stall ${from} ${to} ${scope}`);
    const link = this.link(this.machine(from), this.machine(to));
    link.stallsNew = scope === "all";
    for (const exchange of this.#exchangesBetween(from, to)) {
      if (exchange.upLink === link) exchange.up.stall();
      if (exchange.downLink === link) exchange.down.stall();
    }
  }

  unstall(from: string, to: string): void {
    this.#note(`unstall ${from} ${to}`);
    const link = this.link(this.machine(from), this.machine(to));
    link.stallsNew = false;
    for (const exchange of this.#exchangesBetween(from, to)) {
      if (exchange.upLink === link) exchange.up.unstall();
      if (exchange.downLink === link) exchange.down.unstall();
    }
  }

  /** The machine is switched off, or on again: then peers that still wait see RESET. */
  setVanished(name: string, vanished: boolean): void {
    const machine = this.machine(name);
    if (machine.vanished === vanished) return;
    this.#note(`${vanished ? "vanished" : "back"} ${name}`);
    machine.vanished = vanished;
    if (vanished) return;
    for (const link of this.#links.of(machine)) {
      for (const exchange of link.exchanges) {
        if (exchange.up.opening) exchange.up.release();
        else exchange.breakBoth("RESET");
      }
    }
  }

  #setIsolated(name: string, word: string, isolated: boolean): void {
    this.#note(`${word} ${name}`);
    const machine = this.machine(name);
    machine.isolated = isolated;
    for (const link of this.#links.of(machine)) this.#refresh(link);
  }

  /** Starts or ends the partition of a link, as its present causes demand. */
  #refresh(link: Link): void {
    const { time } = this.#options;
    const began = link.partitionedSinceMs;
    if (link.partitioned === (began !== undefined)) return;
    link.partitionedSinceMs = link.partitioned ? time.nowMs : undefined;
    if (link.partitioned) {
      const sinceMs = time.nowMs;
      time.after(deadPeerMs, undefined, () => this.#expire(link, sinceMs));
      return;
    }
    for (const exchange of this.#exchangesBetween(link.from.name, link.to.name)) {
      exchange.up.release();
      exchange.down.release();
    }
  }

  /** The exchanges that a partition has cut for `deadPeerMs` without a break. */
  #expire(link: Link, sinceMs: number): void {
    if (link.partitionedSinceMs !== sinceMs) return;
    for (const exchange of this.#exchangesBetween(link.from.name, link.to.name)) {
      if (exchange.openedMs <= sinceMs) exchange.breakBoth("DEAD_PEER");
    }
  }

  /** A copy: what is done to them may end them. */
  #exchangesBetween(a: string, b: string): Exchange[] {
    const [there, back] = this.#both(a, b);
    if (there === back) return [...there.exchanges];
    return [...there.exchanges, ...back.exchanges];
  }

  #both(a: string, b: string): [Link, Link] {
    const left = this.machine(a);
    const right = this.machine(b);
    return [this.link(left, right), this.link(right, left)];
  }

  #note(text: string): void {
    this.#options.trace.add("fault", this.#options.time.nowMs, 0, 0, text);
  }
}
