// One API server and a client in a simulated world, where time is virtual and every run is the
// same.
import { Registry } from "prom-client";
import { ApiServer, type ApiServerOptions } from "../../src/apiserver/api-server.ts";
import { MemoryStorage } from "../../src/apiserver/storage/memory-storage.ts";
import type { Environment } from "../../src/environment/environment.ts";
import type { IncomingResponse } from "../../src/environment/network.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: unknown;
}

export interface CallOptions {
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string;
  readonly host?: string;
}

export interface ApiWorld {
  readonly simulation: Simulation;
  readonly server: ApiServer;
  readonly client: Environment;
  readonly storage: MemoryStorage;
  readonly call: (
    method: string,
    path: string,
    body?: unknown,
    options?: CallOptions,
  ) => Promise<Reply>;
  /** Opens a stream; the caller reads the body. */
  readonly open: (path: string, options?: CallOptions) => Promise<IncomingResponse>;
  /** One more server on the same storage. */
  readonly addServer: (host: string, options?: Partial<ApiServerOptions>) => Promise<ApiServer>;
}

export const pods = "/api/v1/namespaces/default/pods";

/** The least a pod needs. */
export function pod(name: string, spec: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: name } },
    spec: { containers: [{ name: "c", image: "nginx:1" }], ...spec },
  };
}

/** A refusal, whole. */
export function failure(code: number, reason: string, message: string, details?: object): object {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    ...(reason === "" ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  };
}

const tokens = new Map([
  ["admin-token", { name: "admin", groups: ["system:masters"] }],
  ["other-token", { name: "other", groups: [] }],
]);

export async function inApiWorld(
  run: (world: ApiWorld) => Promise<void>,
  options: Partial<ApiServerOptions> = {},
  seed = 1,
): Promise<void> {
  await simulate({ seed }, async (simulation) => {
    const client = simulation.host("client");
    const storage = new MemoryStorage({ clock: simulation.host("server").clock });
    const servers: ApiServer[] = [];
    const addServer = async (host: string, own: Partial<ApiServerOptions> = {}) => {
      const server = new ApiServer({
        ...simulation.host(host),
        storage,
        name: host,
        gitVersion: "v1.33.1",
        authentication: { tokens },
        metrics: new Registry(),
        ...own,
      });
      await server.start({ host, port: 6443 });
      servers.push(server);
      return server;
    };
    const server = await addServer("server", options);
    const open: ApiWorld["open"] = (path, callOptions) =>
      send(client, "GET", path, undefined, callOptions);
    await run({
      simulation,
      server,
      client,
      storage,
      addServer,
      open,
      call: async (method, path, body, callOptions) =>
        readReply(await send(client, method, path, body, callOptions)),
    });
    for (const started of servers) {
      await started.stop();
    }
  });
}

function send(
  client: Environment,
  method: string,
  path: string,
  body: unknown,
  {
    contentType = "application/json",
    headers = {},
    token = "admin-token",
    host = "server",
  }: CallOptions = {},
): Promise<IncomingResponse> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return client.network.request({
    method,
    url: `https://${host}:6443${path}`,
    headers: {
      ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": contentType }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: Buffer.from(text, "utf8") }),
  });
}

async function readReply(response: IncomingResponse): Promise<Reply> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) {
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  const { status, headers } = response;
  return { status, headers, text, json: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
