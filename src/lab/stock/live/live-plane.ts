// The stock proxy as a real nginx: real checks, real reloads, real workers that really look for new
// backends once a second. Modelled are its configuration, much smaller than ingress-nginx's, and its
// Lua code, which is ours (see `nginx-lua.ts`).

import type { Environment } from "../../../environment/environment.ts";
import { freePort } from "../../free-port.ts";
import type { StockBackend, StockServer } from "../stock-configuration.ts";
import type { OnRouted, StockPlane } from "../stock-plane.ts";
import { accessLog, controlSocket, nginxConf, plainAccessLog } from "./nginx-conf.ts";
import { NginxControl } from "./nginx-control.ts";
import { NginxProcess, type NginxProcessOptions } from "./nginx-process.ts";
import { NginxRouted } from "./nginx-routed.ts";

export interface LivePlaneOptions
  extends Pick<
      Environment,
      "clock" | "timers" | "random" | "network" | "files" | "processes" | "log"
    >,
    Pick<NginxProcessOptions, "prefix" | "program"> {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Where it says what it routes to; any free port unless given. */
  readonly statusPort?: number;
  readonly onRouted?: OnRouted;
  /** Writes an access log, which grows for as long as nginx runs; off unless asked for. */
  readonly accessLog?: boolean;
}

export class LivePlane implements StockPlane {
  readonly #options: LivePlaneOptions;
  readonly #nginx: NginxProcess;
  readonly #control: NginxControl;
  readonly #routed: NginxRouted;
  readonly #abort = new AbortController();
  /** Of the configuration; each reload is a new one. */
  #generation = 0;
  #port: number;
  #statusPort: number;
  #starting: Promise<void> | undefined;

  constructor(options: LivePlaneOptions) {
    this.#options = options;
    this.#port = options.port;
    this.#statusPort = options.statusPort ?? 0;
    this.#nginx = new NginxProcess(options);
    const socketPath = `${options.prefix}/${controlSocket}`;
    this.#control = new NginxControl({ ...options, socketPath });
    this.#routed = new NginxRouted({
      ...options,
      control: this.#control,
      onRouted: (backends, at) => options.onRouted?.(backends, at),
      signal: this.#whileRunning(this.#abort.signal),
    });
  }

  get address(): string {
    return `${this.#options.host}:${this.#port}`;
  }

  /** The counterpart of port 10246 in a pod of ingress-nginx; known once started. */
  get statusAddress(): string {
    return `${this.#options.host}:${this.#statusPort}`;
  }

  /** Aborts when nginx has ended; the reason says how. */
  get ended(): AbortSignal {
    return this.#nginx.ended;
  }

  /** The nginx master's; undefined before the start. */
  get pid(): number | undefined {
    return this.#nginx.pid;
  }

  /** A JSON object a line, with `target` and `upstream`, written up to 1 s late; if asked for. */
  get accessLogPath(): string {
    return `${this.#options.prefix}/${accessLog}`;
  }

  /** The same in ingress-nginx's default format. */
  get plainAccessLogPath(): string {
    return `${this.#options.prefix}/${plainAccessLog}`;
  }

  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  async reload(servers: readonly StockServer[], signal: AbortSignal): Promise<void> {
    await this.#nginx.install(this.#configuration(servers, this.#generation + 1));
    this.#generation += 1;
    this.#nginx.reload();
    await this.#control.configured(this.#generation, this.#whileRunning(signal));
  }

  async push(backends: readonly StockBackend[], signal: AbortSignal): Promise<void> {
    this.#routed.handedOver(backends, await this.#control.push(backends, signal));
  }

  async stop(): Promise<void> {
    this.#abort.abort(new Error("the stock proxy is stopping"));
    // The caller of a failed start has its error; its leftovers are removed here.
    await this.#starting?.catch(() => undefined);
    await this.#routed.ended();
    await this.#nginx.stop();
  }

  async #start(): Promise<void> {
    const { host } = this.#options;
    if (this.#port === 0) this.#port = await freePort(this.#options, host);
    while ([0, this.#port].includes(this.#statusPort)) {
      this.#statusPort = await freePort(this.#options, host);
    }
    await this.#nginx.start(this.#configuration([], this.#generation));
    await this.#control.configured(this.#generation, this.#whileRunning(this.#abort.signal));
  }

  /** An nginx that has ended takes nothing any more: there is no use in asking on. */
  #whileRunning(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#nginx.ended]);
  }

  #configuration(servers: readonly StockServer[], generation: number): string {
    const { prefix, host, accessLog: hasAccessLog = false } = this.#options;
    return nginxConf(servers, {
      prefix,
      host,
      port: this.#port,
      statusPort: this.#statusPort,
      generation,
      hasAccessLog,
    });
  }
}
