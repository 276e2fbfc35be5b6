// A gateway machine in virtual time whose `nginx` is the twin, as a program that goes into the
// background with a master and a worker, and whose control socket keeps a script.
import { Registry } from "prom-client";
import type { ExchangeHandler, ServerExchange } from "../../src/environment/network.ts";
import type { Signal } from "../../src/environment/processes.ts";
import { NginxPusher, type NginxPusherOptions } from "../../src/outputs/nginx/nginx-pusher.ts";
import {
  NginxSupervisor,
  type NginxSupervisorOptions,
} from "../../src/outputs/nginx/nginx-supervisor.ts";
import { TwinProxy } from "../../src/outputs/nginx/twin-proxy.ts";
import type { ProgramContext } from "../../src/simulation/simulated-processes.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";
import { decisionOf, type ShortDecision } from "./short-decision.ts";

export const prefix = "/var/lib/lockstep/nginx";
const proxyDirectory = "/usr/lib/lockstep/proxy";

/** Answers in the twin's place; without an answer the request is never answered. */
export type ScriptedAnswer = (exchange: ServerExchange) => void | Promise<void>;

export class NginxWorld {
  readonly simulation: Simulation;
  readonly registry = new Registry();
  /** Control requests since the last `take`, holds left out. */
  #asked: string[] = [];
  readonly #scripts: { readonly what: RegExp; readonly answer: ScriptedAnswer }[] = [];
  /** The error of `nginx` instead of starting. */
  complaint: string | undefined;
  /** Starts of the program that succeeded. */
  starts = 0;
  readonly routed: string[] = [];

  constructor(simulation: Simulation) {
    this.simulation = simulation;
    simulation.registerProgram("nginx", (context) => this.#nginx(context));
    simulation.registerProgram("nginx-master", (context) => this.#master(context));
    simulation.registerProgram("nginx-worker", (context) => this.#worker(context));
  }

  get host() {
    return this.simulation.host("gateway");
  }

  get socketPath(): string {
    return `${prefix}/control/control.sock`;
  }

  /** The next control request that fits is answered by this. */
  script(what: RegExp, answer: ScriptedAnswer): void {
    this.#scripts.push({ what, answer });
  }

  take(): readonly string[] {
    const asked = this.#asked;
    this.#asked = [];
    return asked;
  }

  supervisor(options: Partial<NginxSupervisorOptions> = {}): NginxSupervisor {
    return new NginxSupervisor({
      ...this.host,
      prefix,
      proxyDirectory,
      listen: [{ address: "10.0.0.1", port: 8080 }],
      workers: 1,
      metrics: this.registry,
      ...options,
    });
  }

  pusher(options: Partial<NginxPusherOptions> = {}): NginxPusher {
    return new NginxPusher({
      ...this.host,
      socketPath: this.socketPath,
      onRouted: (service, version, at) => void this.routed.push(`${service}@${version} ${at}`),
      metrics: this.registry,
      ...options,
    });
  }

  /** Starts the twin alone, without a supervisor; gives its process. */
  async startNginx(): Promise<number> {
    const { processes } = this.host;
    const worker = await processes.spawn("nginx-worker", ["run", "0"], { detached: true });
    await this.simulation.sleep(1);
    return worker.pid;
  }

  /** Status of a request through the proxy, with who answered. */
  async ask(host: string): Promise<string> {
    const { network } = this.simulation.host("client");
    const url = "http://gateway:8080/";
    const response = await network.request({ method: "GET", url, headers: { host } });
    let text = "";
    for await (const chunk of response.body) text += Buffer.from(chunk).toString("utf8");
    return `${response.status} ${text}`.trim();
  }

  async #nginx({ environment, args, writeError }: ProgramContext): Promise<number> {
    if (this.complaint !== undefined) {
      writeError(`nginx: [emerg] ${this.complaint}\n`);
      return 1;
    }
    this.starts += 1;
    const { files, processes } = environment;
    const run = await files.read(`${args[1]}/run/control.conf`);
    const [, id = ""] = /lockstep_run (\w+);/.exec(Buffer.from(run ?? []).toString()) ?? [];
    await processes.spawn("nginx-master", [id], { detached: true });
    return 0;
  }

  async #master({ environment, args, onSignal }: ProgramContext): Promise<number> {
    const { files, processes } = environment;
    const workerArgs = [args[0] ?? "", String(processes.pid)];
    const worker = await processes.spawn("nginx-worker", workerArgs, { detached: true });
    await files.write(`${prefix}/nginx.pid`, `${processes.pid}\n`);
    await signalled(onSignal);
    worker.kill("SIGTERM");
    await worker.exited;
    return 0;
  }

  async #worker({ environment, args, onSignal }: ProgramContext): Promise<number> {
    const [run = "", master = ""] = args;
    const twin = new TwinProxy({
      ...environment,
      network: { ...bound(environment.network), listen: this.#scripted(environment.network) },
      socketPath: this.socketPath,
      listen: { host: "gateway", port: 8080 },
      run,
      ...(Number(master) > 0 ? { masterPid: Number(master) } : {}),
    });
    await twin.start();
    await signalled(onSignal);
    await twin.stop();
    return 0;
  }

  /** Listens with the script before the control socket's own handler. */
  #scripted(network: NginxWorld["host"]["network"]): NginxWorld["host"]["network"]["listen"] {
    return (options, handler) =>
      network.listen(
        options,
        options.socketPath === undefined ? handler : (one) => this.#control(one, handler),
      );
  }

  #control(exchange: ServerExchange, handler: ExchangeHandler): void | Promise<void> {
    const what = `${exchange.request.method} ${exchange.request.target}`;
    if (what !== "GET /hold") this.#asked.push(what);
    const index = this.#scripts.findIndex((script) => script.what.test(what));
    const [scripted] = index < 0 ? [] : this.#scripts.splice(index, 1);
    return scripted === undefined ? handler(exchange) : scripted.answer(exchange);
  }
}

export function nginxWorld(
  run: (world: NginxWorld) => Promise<void>,
  options: { readonly seed?: number } = {},
): Promise<void> {
  return simulate({ seed: options.seed ?? 1 }, async (simulation) => {
    const world = new NginxWorld(simulation);
    const { files } = world.host;
    for (const name of ["nginx.conf", "upstreams.conf", "lua/lockstep/start.lua"]) {
      await files.makeDirectory(`${proxyDirectory}/lua/lockstep`);
      await files.write(`${proxyDirectory}/${name}`, `the content of ${name}`);
    }
    await run(world);
  });
}

/** Tells a pusher a whole decision whose services all have this version. */
export function decide(pusher: NginxPusher, decision: ShortDecision, version: number): void {
  const whole = decisionOf(decision);
  const services = new Map([...whole.services.keys()].map((key) => [key, version]));
  pusher.apply(whole, { routes: true, services });
}

export function refusal(status: number, code: string): ScriptedAnswer {
  const body = Buffer.from(JSON.stringify({ code, message: "scripted" }));
  return (exchange) => exchange.respond(status).end(body);
}

function bound(network: NginxWorld["host"]["network"]): NginxWorld["host"]["network"] {
  return {
    request: (request) => network.request(request),
    listen: (options, handler) => network.listen(options, handler),
  };
}

function signalled(onSignal: (listener: (signal: Signal) => void) => void): Promise<Signal> {
  return new Promise((resolve) => onSignal(resolve));
}
