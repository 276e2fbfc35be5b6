// For the proxy's tests: real nginx under a folder of its own, the pusher and supervisor that drive
// it, and backends that say who they are. Everything a test started is ended with it.

import { existsSync } from "node:fs";
import { createConnection } from "node:net";
import type { Environment } from "../src/environment/environment.ts";
import type { ServerExchange } from "../src/environment/network.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { freePort } from "../src/lab/free-port.ts";
import { ControlClient } from "../src/outputs/nginx/control-client.ts";
import { findProxyDirectory } from "../src/outputs/nginx/nginx-prefix.ts";
import { NginxPusher } from "../src/outputs/nginx/nginx-pusher.ts";
import {
  NginxSupervisor,
  type NginxSupervisorOptions,
} from "../src/outputs/nginx/nginx-supervisor.ts";
import { endpointId } from "../src/sources/endpoint-id.ts";
import { decisionOf, endpointOf, type ShortDecision } from "../tests/nginx/short-decision.ts";

const nginx = "/usr/sbin/nginx";

export const withoutNginx = existsSync(nginx)
  ? false
  : `${nginx} is missing: run "npm run setup", or install nginx with its Lua module`;

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface Backend {
  /** `address:port`, as decisions name it. */
  readonly peer: string;
  /** Its requests as text: `POST /path body`. */
  readonly requests: string[];
  close(): Promise<void>;
}

export class ProxyWorld {
  readonly environment: Environment = nodeEnvironment({ log: { write: () => undefined } });
  readonly #undo: (() => Promise<void>)[] = [];
  readonly prefix: string;
  readonly port: number;
  readonly #proxyDirectory: string;
  #nextBackend = 1;

  private constructor(prefix: string, port: number, proxyDirectory: string) {
    this.prefix = prefix;
    this.port = port;
    this.#proxyDirectory = proxyDirectory;
  }

  static async use(test: (world: ProxyWorld) => Promise<void>): Promise<void> {
    const environment = nodeEnvironment();
    const { files } = environment;
    const prefix = await files.temporaryDirectory("lockstep-e2e-proxy-");
    const port = await freePort(environment, "127.0.0.1");
    const world = new ProxyWorld(prefix, port, await findProxyDirectory(files));
    try {
      await test(world);
    } finally {
      for (const undo of world.#undo.reverse()) await undo();
      await world.supervisor().stopNginx(0);
      await files.remove(prefix);
    }
  }

  supervisor(options: Partial<NginxSupervisorOptions> = {}): NginxSupervisor {
    const supervisor = new NginxSupervisor({
      ...this.environment,
      prefix: this.prefix,
      proxyDirectory: this.#proxyDirectory,
      listen: [{ address: "127.0.0.1", port: this.port }],
      workers: 2,
      program: nginx,
      ...options,
    });
    this.#undo.push(() => supervisor.stop());
    return supervisor;
  }

  pusher(callbacks: { readonly onSuperseded?: () => void } = {}): DrivenPusher {
    const driven = new DrivenPusher(this, callbacks);
    this.#undo.push(() => driven.stop());
    return driven;
  }

  control(): ControlClient {
    return new ControlClient({ ...this.environment, socketPath: this.socketPath });
  }

  get socketPath(): string {
    return `${this.prefix}/control/control.sock`;
  }

  /** Answers with its own name; `handler` may answer in its place. */
  async backend(
    name: string,
    handler?: (exchange: ServerExchange) => void | Promise<void>,
  ): Promise<Backend> {
    const host = `127.0.77.${this.#nextBackend}`;
    this.#nextBackend += 1;
    const requests: string[] = [];
    const listener = await this.environment.network.listen({ host, port: 0 }, async (exchange) => {
      const { method, target, body } = exchange.request;
      requests.push(`${method} ${target} ${await textOf(body)}`.trim());
      if (handler !== undefined) await handler(exchange);
      else exchange.respond(200).end(Buffer.from(name));
    });
    this.#undo.push(() => listener.close());
    return { peer: `${host}:${listener.port}`, requests, close: () => listener.close() };
  }

  /** One request through the proxy; a refused connection is status 0. */
  async ask(
    host: string,
    target = "/",
    options: { readonly method?: string; readonly body?: string } = {},
  ): Promise<Answer> {
    const { method = "GET", body } = options;
    try {
      const response = await this.environment.network.request({
        method,
        url: `http://127.0.0.1:${this.port}${target}`,
        headers: { host },
        ...(body === undefined ? {} : { body: Buffer.from(body) }),
      });
      return { status: response.status, body: await textOf(response.body) };
    } catch (error) {
      return { status: 0, body: String(error) };
    }
  }

  /** The same on a connection of its own, with the request written as it stands. */
  askRaw(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = createConnection(this.port, "127.0.0.1", () => socket.end(text));
      let answer = "";
      socket.on("data", (chunk) => {
        answer += chunk.toString("latin1");
      });
      socket.on("close", () => resolve(answer));
      socket.on("error", reject);
    });
  }

  /** Many at once, as `200 name` with how often each came. */
  async askMany(host: string, count: number): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    const answers = Array.from({ length: count }, () => this.ask(host));
    for (const { status, body } of await Promise.all(answers)) {
      const key = status === 200 ? `200 ${body}` : String(status);
      counts[key] = (counts[key] ?? 0) + 1;
    }
    return counts;
  }

  /** Waits until it holds; the test's own time limit bounds it. */
  async until(holds: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await holds())) await this.environment.timers.sleep(5);
  }
}

/** A pusher that takes whole decisions and can be awaited. */
export class DrivenPusher {
  readonly #pusher: NginxPusher;
  readonly #world: ProxyWorld;
  readonly #routed = new Map<string, number>();
  #version = 0;
  loads = 0;

  constructor(world: ProxyWorld, callbacks: { readonly onSuperseded?: () => void }) {
    this.#world = world;
    this.#pusher = new NginxPusher({
      ...world.environment,
      socketPath: world.socketPath,
      onRouted: (service, version) => this.#routed.set(service, version),
      onLoaded: () => {
        this.loads += 1;
      },
      ...callbacks,
    });
    this.#pusher.start();
  }

  decide(decision: ShortDecision): void {
    this.#version += 1;
    const whole = decisionOf(decision);
    const services = new Map([...whole.services.keys()].map((key) => [key, this.#version]));
    this.#pusher.apply(whole, { routes: true, services });
  }

  /** Resolves when nginx routes by the decision. */
  async push(decision: ShortDecision): Promise<void> {
    this.decide(decision);
    const version = this.#version;
    const keys = Object.keys(decision.services);
    await this.#world.until(() => keys.every((key) => (this.#routed.get(key) ?? 0) >= version));
  }

  /** These endpoints, `address:port`, answered a probe. */
  async answered(peers: readonly string[]): Promise<void> {
    const keys = peers.map((peer) => endpointId(endpointOf(peer)));
    await this.#pusher.answered(keys, new AbortController().signal);
  }

  stop(): Promise<void> {
    return this.#pusher.stop();
  }
}

export async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
