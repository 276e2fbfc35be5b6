// The measured systems: an nginx with Lockstep's constant configuration and all of the state, a
// static nginx, and the backend of both.
import { webcrypto } from "node:crypto";
import { makeAuthority } from "../src/apiserver/certificate-authority.ts";
import type { Certificate, DecidedEndpoint, RoutingDecision } from "../src/decide/decision.ts";
import type { Clock } from "../src/environment/clock.ts";
import type { Environment } from "../src/environment/environment.ts";
import { freePort } from "../src/lab/free-port.ts";
import { findProxyDirectory, socketPathOf } from "../src/outputs/nginx/nginx-prefix.ts";
import { NginxPusher } from "../src/outputs/nginx/nginx-pusher.ts";
import { NginxSupervisor } from "../src/outputs/nginx/nginx-supervisor.ts";
import { backendConfiguration, PlainNginx } from "./plain-nginx.ts";
import { childrenOf } from "./process-cost.ts";
import { fewAddresses, wholeDecision } from "./proxy-scale.ts";
import { staticConfiguration } from "./static-configuration.ts";

export interface ProxyBenchWorldOptions {
  readonly environment: Environment;
  /** A folder of this run alone. */
  readonly folder: string;
  readonly workers: number;
  readonly signal: AbortSignal;
}

const host = "127.0.0.1";

export class ProxyBenchWorld {
  readonly ports = { lockstep: 0, static: 0, lockstepTls: 0, staticTls: 0, backend: 0 };
  /** From the first word to nginx to its answer that all of it is seen. */
  loadMs = Number.NaN;
  readonly #options: ProxyBenchWorldOptions;
  readonly #services = new Map<string, readonly DecidedEndpoint[]>();
  readonly #routed = new Map<string, () => void>();
  /** The started parts, to be ended in the reverse order. */
  readonly #started: (() => Promise<void>)[] = [];
  #decision: RoutingDecision = { hosts: new Map(), services: new Map() };
  #supervisor: NginxSupervisor | undefined;
  #static: PlainNginx | undefined;
  #certificate: Certificate = { chain: "", key: "" };
  #pusher: NginxPusher | undefined;
  #version = 1;

  constructor(options: ProxyBenchWorldOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { environment } = this.#options;
    for (const name of ["lockstep", "static", "lockstepTls", "staticTls", "backend"] as const) {
      this.ports[name] = await freePort(environment, host);
    }
    this.#certificate = await makeCertificate(environment.clock);
    // The names by which a later run finds the nginx of one that was killed.
    await this.#startPlain("stock-1", backendConfiguration(this.ports.backend));
    await this.startStatic(fewAddresses());
    const decision = wholeDecision(this.ports.backend, this.#certificate);
    for (const [key, endpoints] of decision.services) this.#services.set(key, endpoints);
    this.#decision = { ...decision, services: this.#services };
    await this.#startLockstep();
  }

  /** Ends everything. Idempotent. */
  async stop(): Promise<void> {
    for (let end = this.#started.pop(); end !== undefined; end = this.#started.pop()) await end();
  }

  /** Instead of the one there is. */
  async startStatic(peers: readonly string[]): Promise<void> {
    const { environment, folder, workers } = this.#options;
    await this.#static?.stop();
    const configuration = await staticConfiguration({
      files: environment.files,
      port: this.ports.static,
      tlsPort: this.ports.staticTls,
      certificate: this.#certificate,
      prefix: `${folder}/stock-2`,
      peers,
      backendPort: this.ports.backend,
      workers,
    });
    this.#static = await this.#startPlain("stock-2", configuration);
  }

  async workerPids(side: "lockstep" | "static"): Promise<readonly number[]> {
    if (side === "static") return (await this.#static?.workerPids()) ?? [];
    const master = this.#supervisor?.serving?.masterPid;
    return master === undefined ? [] : childrenOf(master);
  }

  /** Resolves when nginx says that it routes by it; gives how long that took. */
  async change(service: string, endpoints: readonly DecidedEndpoint[]): Promise<number> {
    this.#version += 1;
    this.#services.set(service, endpoints);
    const routed = new Promise<void>((resolve) => this.#routed.set(service, resolve));
    const startedAt = performance.now();
    const services = new Map([[service, this.#version]]);
    this.#pusher?.apply(this.#decision, { routes: false, services });
    await routed;
    return performance.now() - startedAt;
  }

  async #startPlain(name: string, configuration: string): Promise<PlainNginx> {
    const { environment, folder, signal } = this.#options;
    const nginx = new PlainNginx({ environment, prefix: `${folder}/${name}`, configuration });
    this.#started.push(() => nginx.stop());
    await nginx.start(signal);
    return nginx;
  }

  async #startLockstep(): Promise<void> {
    const { environment, folder, workers } = this.#options;
    const prefix = `${folder}/lockstep-1`;
    const supervisor = new NginxSupervisor({
      ...environment,
      prefix,
      proxyDirectory: await findProxyDirectory(environment.files),
      listen: [
        { address: host, port: this.ports.lockstep },
        { address: host, port: this.ports.lockstepTls, tls: true },
      ],
      workers,
    });
    this.#supervisor = supervisor;
    this.#started.push(() => supervisor.stopNginx(0));
    await supervisor.start();
    await this.#load(prefix);
  }

  async #load(prefix: string): Promise<void> {
    const { environment } = this.#options;
    let loaded: () => void = () => undefined;
    const isLoaded = new Promise<void>((resolve) => {
      loaded = resolve;
    });
    const pusher = new NginxPusher({
      ...environment,
      socketPath: socketPathOf(prefix),
      onRouted: (service, version) => {
        if (version === this.#version) this.#routed.get(service)?.();
      },
      onLoaded: () => loaded(),
    });
    this.#pusher = pusher;
    this.#started.push(() => pusher.stop());
    const versions = new Map([...this.#services.keys()].map((key) => [key, this.#version]));
    pusher.apply(this.#decision, { routes: true, services: versions });
    const startedAt = performance.now();
    pusher.start();
    await isLoaded;
    this.loadMs = performance.now() - startedAt;
  }
}

/** For any name: no client verifies it. */
async function makeCertificate(clock: Clock): Promise<Certificate> {
  const authority = await makeAuthority({ clock, crypto: webcrypto, name: "bench" });
  const { cert, key } = await authority.issueServer([host]);
  return { chain: cert, key };
}
