// During a simulated run, real time, real randomness and the real network are forbidden: a call to
// any of them, from our code or from a dependency, throws and names itself. Otherwise a run would
// silently depend on the machine. Everything is restored afterwards. Code that captured a function
// before the run (the loop, the real environment, the test runner) keeps it.
import childProcess from "node:child_process";
import crypto from "node:crypto";
import dgram from "node:dgram";
import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import timers from "node:timers";
import timersPromises from "node:timers/promises";

/** Something reached around the environment during a simulated run. */
export class SimulationLeakError extends Error {
  override readonly name = "SimulationLeakError";
  readonly code = "LEAK";
  /** The call, as written in a program. */
  readonly call: string;

  constructor(call: string, instead: string) {
    super(`${call} was called during a simulated run; use ${instead} of the environment instead`);
    this.call = call;
  }
}

/** Two runs would share one real event loop, and neither would repeat. */
export class SimulationBusyError extends Error {
  override readonly name = "SimulationBusyError";
  readonly code = "BUSY";

  constructor() {
    super("a simulated run is already going on in this process; await it before the next one");
  }
}

/** An object, what its functions are called in a program, and what replaces them. */
interface Forbidden {
  readonly holder: object;
  readonly prefix: string;
  readonly names: readonly string[];
  readonly instead: string;
}

interface Replaced {
  readonly holder: object;
  readonly name: string;
  readonly descriptor: PropertyDescriptor;
}

const timerNames = ["setTimeout", "setInterval", "setImmediate"];

/** Not `getRandomValues`: it is fixed on the module, and calls the one of the global `crypto`. */
const randomNames = ["randomUUID", "randomBytes", "randomInt", "randomFill", "randomFillSync"];

const spawnNames = ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"];

const forbidden: readonly Forbidden[] = [
  {
    holder: Object.getPrototypeOf(performance),
    prefix: "performance.",
    names: ["now"],
    instead: "clock",
  },
  { holder: process, prefix: "process.", names: ["hrtime"], instead: "clock" },
  { holder: globalThis, prefix: "", names: timerNames, instead: "timers" },
  { holder: timers, prefix: "timers.", names: timerNames, instead: "timers" },
  { holder: timersPromises, prefix: "timers/promises.", names: timerNames, instead: "timers" },
  { holder: AbortSignal, prefix: "AbortSignal.", names: ["timeout"], instead: "timers" },
  { holder: Math, prefix: "Math.", names: ["random"], instead: "random" },
  { holder: crypto, prefix: "crypto.", names: randomNames, instead: "random" },
  {
    holder: Object.getPrototypeOf(crypto.webcrypto),
    prefix: "crypto.",
    names: ["randomUUID", "getRandomValues"],
    instead: "random",
  },
  { holder: globalThis, prefix: "", names: ["fetch"], instead: "network" },
  { holder: net.Socket.prototype, prefix: "socket.", names: ["connect"], instead: "network" },
  { holder: net.Server.prototype, prefix: "server.", names: ["listen"], instead: "network" },
  {
    holder: dgram.Socket.prototype,
    prefix: "socket.",
    names: ["bind", "send"],
    instead: "network",
  },
  { holder: dns, prefix: "dns.", names: ["lookup"], instead: "network" },
  { holder: dns.promises, prefix: "dns.promises.", names: ["lookup"], instead: "network" },
  { holder: childProcess, prefix: "child_process.", names: spawnNames, instead: "processes" },
];

let installed: Guard | undefined;

export class Guard {
  /** In the order replaced; put back in the opposite order. */
  readonly #replaced: Replaced[] = [];
  #lifts = 0;

  /** Guards this process until `remove`; refused while another run is going on. */
  static install(): Guard {
    if (installed !== undefined) throw new SimulationBusyError();
    const guard = new Guard();
    installed = guard;
    try {
      guard.#replaceAll();
    } catch (error) {
      guard.remove();
      throw error;
    }
    return guard;
  }

  /** Puts everything back exactly as it was. Idempotent. */
  remove(): void {
    if (installed !== this) return;
    installed = undefined;
    for (const { holder, name, descriptor } of this.#replaced.splice(0).reverse()) {
      Object.defineProperty(holder, name, descriptor);
    }
    syncBuiltinESMExports();
  }

  /** Runs an action of the real world, which may use real time and the real network. */
  async lifted(action: () => void | Promise<void>): Promise<void> {
    this.#lifts += 1;
    try {
      await action();
    } finally {
      this.#lifts -= 1;
    }
  }

  #replaceAll(): void {
    this.#replaceDate();
    for (const { holder, prefix, names, instead } of forbidden) {
      for (const name of names) this.#forbid(holder, name, `${prefix}${name}()`, instead);
    }
    syncBuiltinESMExports();
  }

  #forbid(holder: object, name: string, call: string, instead: string): void {
    const real: unknown = Reflect.get(holder, name);
    if (typeof real !== "function") return;
    const check = (called: string): void => this.#check(called, instead);
    const wrapper = function (this: unknown, ...args: unknown[]): unknown {
      check(call);
      return Reflect.apply(real, this, args);
    };
    if (name === "hrtime") this.#forbidBigint(wrapper, check);
    this.#replace(holder, name, wrapper);
  }

  #forbidBigint(hrtime: object, check: (called: string) => void): void {
    const real = process.hrtime;
    const value = (): bigint => {
      check("process.hrtime.bigint()");
      return real.bigint();
    };
    Object.defineProperty(hrtime, "bigint", { value });
  }

  /**
   * `new Date(x)` is a conversion and stays; without an argument it is the time of day. The real
   * constructor is left as it is, because the test runner has captured it for its own use.
   */
  #replaceDate(): void {
    const check = (call: string): void => this.#check(call, "clock");
    const { now } = Date;
    const guardedNow = (): number => {
      check("Date.now()");
      return now();
    };
    const guarded = new Proxy(Date, {
      construct(target, args, newTarget) {
        if (args.length === 0) check("new Date()");
        return Reflect.construct(target, args, newTarget);
      },
      get(target, name) {
        return name === "now" ? guardedNow : Reflect.get(target, name);
      },
      apply(target, self, args) {
        check("Date()");
        return Reflect.apply(target, self, args);
      },
    });
    this.#replace(Date.prototype, "constructor", guarded);
    this.#replace(globalThis, "Date", guarded);
  }

  #replace(holder: object, name: string, value: unknown): void {
    const descriptor = Reflect.getOwnPropertyDescriptor(holder, name);
    if (descriptor === undefined) return;
    this.#replaced.push({ holder, name, descriptor });
    Object.defineProperty(holder, name, {
      configurable: true,
      enumerable: descriptor.enumerable ?? true,
      writable: true,
      value,
    });
  }

  #check(call: string, instead: string): void {
    if (this.#lifts === 0) throw new SimulationLeakError(call, instead);
  }
}
