// A server in a process of its own, so that its work and the client's are measured separately: the
// lab's API server (`lab`), the same without controllers beside it (`memory`, or `etcd` with its
// objects there), or a minimal server that answers the same requests (`bare`). It ends with its
// parent.
import { webcrypto } from "node:crypto";
import { PeerAddresses } from "../src/apiserver/audit/peer-addresses.ts";
import { makeAuthority } from "../src/apiserver/certificate-authority.ts";
import { EtcdStorage } from "../src/apiserver/storage/etcd/etcd-storage.ts";
import { MemoryStorage } from "../src/apiserver/storage/memory-storage.ts";
import type { Storage } from "../src/apiserver/storage/storage.ts";
import { Klog } from "../src/components/klog.ts";
import { noPodLogs } from "../src/components/pod-logs.ts";
import type { BodyWriter, ExchangeHandler, IncomingRequest } from "../src/environment/network.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { startServer } from "../src/lab/cluster-server.ts";
import { clusterTokens, defaultProfile } from "../src/lab/cluster-servers.ts";
import { startLab } from "../src/lab/lab.ts";

export type ServerSort = "lab" | "memory" | "etcd" | "bare";

/** The first message: where the server is. */
export interface ServerAddress {
  readonly port: number;
  readonly ca: string;
  readonly token: string;
}

/** The answer to every message: the processor time used so far. */
export interface ServerUsage {
  readonly cpuMicroseconds: number;
}

const host = "127.0.0.1";
const environment = nodeEnvironment();

process.once("disconnect", () => process.exit(0));
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  tell({ cpuMicroseconds: user + system });
});
const starts: Readonly<Record<string, () => Promise<ServerAddress>>> = {
  lab: startLabServer,
  memory: () => startAlone(new MemoryStorage(environment)),
  etcd: () => startAlone(new EtcdStorage({ ...environment, endpoints: [process.argv[3] ?? ""] })),
  bare: startBareServer,
};
tell(await (starts[process.argv[2] ?? ""] ?? startBareServer)());

async function startLabServer(): Promise<ServerAddress> {
  const lab = await startLab({
    environment,
    crypto: webcrypto,
    clusters: 1,
    apiservers: 1,
    nodes: 0,
    host,
    firstPort: 0,
  });
  const [context] = lab.contexts;
  if (context === undefined) {
    throw new Error("the lab has no context");
  }
  return { port: Number(new URL(context.server).port), ca: context.ca, token: context.token };
}

/** With everything on that a lab's server has on. */
async function startAlone(storage: Storage): Promise<ServerAddress> {
  const { clock } = environment;
  const authority = await makeAuthority({ clock, crypto: webcrypto, name: "alone" });
  const token = environment.random.uuid();
  const { url } = await startServer({
    environment,
    storage,
    name: "alone",
    profile: defaultProfile,
    isFirst: true,
    listen: { host, port: 0, tls: await authority.issueServer([host]) },
    tokens: new Map(clusterTokens(token, `${token}/loopback`)),
    secret: token,
    loopbackToken: `${token}/loopback`,
    accessControl: true,
    fieldOwners: true,
    kubernetesService: {},
    verbosity: 0,
    podLogs: noPodLogs,
    isOneOfSeveral: true,
    klog: new Klog({ clock }),
    peers: new PeerAddresses(),
  });
  return { port: Number(new URL(url).port), ca: authority.ca, token };
}

async function startBareServer(): Promise<ServerAddress> {
  const { clock, network } = environment;
  const authority = await makeAuthority({ clock, crypto: webcrypto, name: "bare" });
  const tls = await authority.issueServer([host]);
  const listener = await network.listen({ host, port: 0, tls }, bareHandler());
  return { port: listener.port, ca: authority.ca, token: "none" };
}

/** Parses what is posted, answers with it, and writes it to everyone whose GET is open. */
function bareHandler(): ExchangeHandler {
  const watchers = new Set<BodyWriter>();
  return async (exchange) => {
    const { request } = exchange;
    if (request.method === "GET") {
      const writer = exchange.respond(200, { "content-type": "application/json" });
      watchers.add(writer);
      request.closed.addEventListener("abort", () => watchers.delete(writer));
      return;
    }
    const text = JSON.stringify(JSON.parse(await textOf(request)));
    const answer = Buffer.from(text);
    const line = Buffer.from(`{"type":"ADDED","object":${text}}\n`);
    for (const watcher of watchers) {
      watcher.write(line);
    }
    exchange.respond(201, { "content-length": String(answer.length) }).end(answer);
  };
}

async function textOf(request: IncomingRequest): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request.body) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function tell(message: ServerAddress | ServerUsage): void {
  process.send?.(message);
}
