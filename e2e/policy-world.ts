// For the tests of routes with policies: one nginx for a whole file, whose hosts are pushed as they
// are written, and endpoints that answer with the head of the request as it reached them.

import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { createConnection, createServer, type Server } from "node:net";
import { afterAll, beforeAll } from "vitest";
import type { PathRule } from "../src/decide/decision.ts";
import type { Pusher } from "../src/outputs/nginx/control-client.ts";
import { pushedHost } from "../src/outputs/nginx/host-entry.ts";
import type { NginxSupervisorOptions } from "../src/outputs/nginx/nginx-supervisor.ts";
import { ProxyWorld } from "./proxy-world.ts";

export interface FullAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Sent in pieces, without saying how long it is. */
  readonly chunked?: boolean;
  /** The address to come from; of 127.0.0.0/8. */
  readonly from?: string;
}

export type PushedHosts = Readonly<Record<string, readonly PathRule[] | null>>;

/** nginx's arguments, once its folder is known. */
export type PrepareProxy = (proxy: ProxyWorld) => Promise<Partial<NginxSupervisorOptions>>;

/** One worker, so that its own counters can be predicted. */
const workers = 1;

export class PolicyWorld {
  readonly proxy: ProxyWorld;
  readonly #pusher: Pusher;
  readonly #servers: Server[] = [];
  #slots = 0;

  private constructor(proxy: ProxyWorld, pusher: Pusher) {
    this.proxy = proxy;
    this.#pusher = pusher;
  }

  /** For a whole file of tests: gives the world once it is there. */
  static forFile(prepare?: PrepareProxy): () => PolicyWorld {
    let world: PolicyWorld | undefined;
    let finish: () => void = () => undefined;
    let ended: Promise<void> = Promise.resolve();
    beforeAll(async () => {
      await new Promise<void>((resolve, reject) => {
        ended = ProxyWorld.use(async (proxy) => {
          const finished = new Promise<void>((done) => {
            finish = done;
          });
          world = await PolicyWorld.#start(proxy, await prepare?.(proxy));
          resolve();
          await finished;
          world.#close();
        });
        ended.catch(reject);
      });
    });
    afterAll(async () => {
      finish();
      await ended;
    });
    return () => {
      if (world === undefined) throw new Error("the world has not started");
      return world;
    };
  }

  static async #start(
    proxy: ProxyWorld,
    options: Partial<NginxSupervisorOptions> = {},
  ): Promise<PolicyWorld> {
    await proxy.supervisor({ workers, ...options }).start();
    const control = proxy.control();
    const { bootId } = await control.state();
    const pusher = { bootId, owner: "policies", epoch: 1 };
    const generation = await control.beginLoad(pusher);
    await control.commitLoad(pusher, generation);
    return new PolicyWorld(proxy, pusher);
  }

  #close(): void {
    for (const server of this.#servers) server.close();
  }

  /** Hosts as they are in the decision; null removes one. */
  async hosts(hosts: PushedHosts): Promise<void> {
    await this.change(hostsBody(hosts));
  }

  async change(body: string): Promise<void> {
    await this.proxy.control().change(this.#pusher, body);
  }

  /** The endpoints in these slots answered a probe. */
  async answered(slots: readonly number[]): Promise<void> {
    await this.proxy.control().answered(this.#pusher, slots);
  }

  /** A service with these endpoints, each `address:port`. */
  async service(name: string, peers: readonly string[]): Promise<void> {
    const addresses = peers.map((peer) => peer.slice(0, peer.lastIndexOf(":")));
    const ports = peers.map((peer) => Number(peer.slice(peer.lastIndexOf(":") + 1)));
    const slots = peers.map(() => {
      this.#slots += 1;
      return this.#slots;
    });
    const value = { tiers: [peers.length], addresses, ports, slots, names: peers };
    await this.change(JSON.stringify({ services: { [name]: value } }));
  }

  /**
   * A service whose endpoint answers every request that has no body with its own name and the
   * request's head, and ends the connection.
   */
  async echo(name: string, answerHead = ""): Promise<void> {
    const server = createServer((socket) => {
      let text = "";
      socket.on("error", () => undefined);
      socket.on("data", (chunk) => {
        text += chunk.toString("latin1");
        if (!text.includes("\r\n\r\n")) return;
        const body = `${name}\n${text}`;
        const length = Buffer.byteLength(body, "latin1");
        const head = `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${length}\r\n`;
        socket.end(`${head}${answerHead}\r\n${body}`, "latin1");
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.77.200", resolve));
    this.#servers.push(server);
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no address");
    await this.service(name, [`${address.address}:${address.port}`]);
  }

  /**
   * Sends a text on its own connection; returns the data until the end, or the given number of
   * answers. A server that has answered may break off a client that sends more.
   */
  raw(text: string, { answers = Number.POSITIVE_INFINITY } = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = createConnection(this.proxy.port, "127.0.0.1", () => {
        socket.write(text, "latin1");
      });
      let answer = "";
      socket.on("data", (chunk) => {
        answer += chunk.toString("latin1");
        if (answer.split("HTTP/1.1 ").length > answers) socket.destroy();
      });
      socket.on("close", () => resolve(answer));
      socket.on("error", (error) => (answer === "" ? reject(error) : resolve(answer)));
    });
  }

  ask(host: string, target = "/", asked: Asked = {}): Promise<FullAnswer> {
    const { method = "GET", headers = {}, body, from } = asked;
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        {
          host: "127.0.0.1",
          port: this.proxy.port,
          method,
          path: target,
          headers: { host, ...headers },
          agent: false,
          ...(from === undefined ? {} : { localAddress: from }),
        },
        (response) => {
          const chunks: Uint8Array[] = [];
          response.on("data", (chunk: Uint8Array) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const text = Buffer.concat(chunks).toString("latin1");
            resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
          });
        },
      );
      request.on("error", reject);
      if (body !== undefined && asked.chunked !== true) {
        request.setHeader("content-length", Buffer.byteLength(body));
      }
      // A second write makes it chunked.
      if (asked.chunked === true) request.write("");
      request.end(body);
    });
  }
}

/** Hosts of a decision and their policies as the body of a push. */
export function hostsBody(hosts: PushedHosts): string {
  const pushed = Object.entries(hosts).map(([name, rules]) => {
    const { rules: own, policies } = pushedHost(rules ?? [], "");
    return { name, rules: rules === null ? null : own, policies };
  });
  return JSON.stringify({
    policies: Object.fromEntries(pushed.flatMap(({ policies }) => [...policies])),
    hosts: Object.fromEntries(pushed.map(({ name, rules }) => [name, rules])),
  });
}

/** The request line that an echoing endpoint got. */
export function lineOf({ body }: FullAnswer): string {
  return body.split("\n")[1]?.trim() ?? "";
}

/** The service whose echoing endpoint answered. */
export function serviceOf({ body }: FullAnswer): string {
  return body.split("\n")[0] ?? "";
}

/** A header as an echoing endpoint got it. */
export function headerOf({ body }: FullAnswer, name: string): string | undefined {
  const prefix = `${name.toLowerCase()}:`;
  const line = body.split("\r\n").find((one) => one.toLowerCase().startsWith(prefix));
  return line?.slice(prefix.length).trim();
}

export function rule(
  path: string,
  service: string,
  policy?: NonNullable<PathRule["policy"]>,
  type: PathRule["type"] = "Prefix",
): PathRule {
  return { path, type, service, ...(policy === undefined ? {} : { policy }) };
}
