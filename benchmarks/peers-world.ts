// Shops in a lab cluster, and in front of them Lockstep and other ingress controllers, each with its
// defaults. All watch the same API server, and the same requests go to all at the same moments.

import { builtPeer, type PeerName, peerNames, startPeer } from "../e2e/real/harness/peers.ts";
import { RealProcess } from "../e2e/real/harness/real-process.ts";
import { hostOf, type ShopsOptions, ShopsWorld } from "../e2e/shops-world.ts";
import type { Environment } from "../src/environment/environment.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { type ClusterAccess, fixedAccess } from "../src/kube/credentials/credentials.ts";
import { freePort } from "../src/lab/free-port.ts";
import { type KubeconfigContext, kubeconfig } from "../src/lab/kubeconfig.ts";
import { lossOf } from "../src/lab/traffic/tally.ts";
import type { TrafficResult } from "../src/lab/traffic/traffic-result.ts";
import { TrafficSource, type TrafficSourceOptions } from "../src/lab/traffic/traffic-source.ts";
import { BenchChild } from "./bench-child.ts";
import type { PeersLabOptions } from "./bench-peers-lab.ts";
import { childrenOf } from "./process-cost.ts";

export type Subject = "lockstep" | PeerName;

/** Those that could be built here. */
export const subjects: readonly Subject[] = [
  "lockstep",
  ...peerNames.filter((peer) => builtPeer(peer).problem === undefined),
];

export interface RunningProxy {
  readonly name: Subject;
  /** `http://host:port` */
  readonly url: string;
  /** Of all its processes at this moment. */
  readonly pids: () => readonly number[];
}

export interface ProxyPlace {
  readonly environment: Environment;
  readonly access: ClusterAccess;
  readonly context: KubeconfigContext;
  readonly folder: string;
  readonly atStop: (undo: () => Promise<void>) => void;
}

type Asked = Pick<TrafficSourceOptions, "requestsPerSecond" | "method" | "deadlineMs">;

const host = "127.0.0.1";

/** Each has served so many in a row, when it is ready. */
const calmRequests = 30;
const readyRate = 20;

export class PeersWorld {
  readonly shops: ShopsWorld;
  readonly proxies: readonly RunningProxy[];

  /** Resolves when every proxy serves every shop. */
  static async start(options: ShopsOptions & PeersLabOptions): Promise<PeersWorld> {
    const { nodes, lateMs } = options;
    const started = await BenchChild.start<KubeconfigContext>("bench-peers-lab", { nodes, lateMs });
    const { child, ready: context } = started;
    const { name, server, token, ca } = context;
    const access = fixedAccess({ name, server, token, tls: { ca } });
    const stop = () => child.stop();
    const shops = await ShopsWorld.startIn({ access, contexts: [context], stop }, options);
    try {
      const { environment, folder } = shops;
      const atStop = (undo: () => Promise<void>) => shops.atStop(undo);
      const proxies = await startProxies({ environment, access, context, folder, atStop });
      const world = new PeersWorld(shops, proxies);
      await world.#createIngresses();
      await world.#served();
      return world;
    } catch (error) {
      await shops.stop();
      throw error;
    }
  }

  private constructor(shops: ShopsWorld, proxies: readonly RunningProxy[]) {
    this.shops = shops;
    this.proxies = proxies;
  }

  client(): HttpKubeClient {
    const { environment, access } = this.shops;
    return new HttpKubeClient({ ...environment, cluster: access, userAgent: "peers" });
  }

  /** Runs until it is finished, or to the end of the world. */
  traffic(shop: string, asked: Asked): PeersTraffic {
    const entries = this.proxies.map(({ name, url }) => ({ name, url }));
    const { environment } = this.shops;
    const traffic = new PeersTraffic({ ...environment, ...asked, hosts: [hostOf(shop)], entries });
    this.shops.atStop(() => traffic.stop());
    return traffic;
  }

  async stop(): Promise<void> {
    await this.shops.stop();
  }

  async #createIngresses(): Promise<void> {
    const rules = this.shops.shops.map((shop) => ruleOf(hostOf(shop), shop));
    for (const { name } of this.proxies.filter((proxy) => proxy.name !== "lockstep")) {
      await createIngress(this.client(), { name: `shops-${name}`, className: name, rules });
    }
  }

  async #served(): Promise<void> {
    const asked = { requestsPerSecond: readyRate };
    const all = this.shops.shops.map((shop) => this.traffic(shop, asked));
    await this.shops.until("every proxy serves every shop", () =>
      all.every((traffic) =>
        this.proxies.every(({ name }) => {
          const newest = traffic.of(name).slice(-calmRequests);
          return newest.length === calmRequests && newest.every((one) => !lossIn(one));
        }),
      ),
    );
    for (const traffic of all) await traffic.stop();
  }
}

export class PeersTraffic {
  readonly #results = new Map<string, TrafficResult[]>();
  readonly #source: TrafficSource;

  constructor(options: Omit<TrafficSourceOptions, "onResult">) {
    for (const { name } of options.entries) this.#results.set(name, []);
    const onResult = (result: TrafficResult) => void this.#results.get(result.entry)?.push(result);
    this.#source = new TrafficSource({ ...options, onResult });
    this.#source.start();
  }

  /** In the order in which they ended. */
  of(subject: Subject): readonly TrafficResult[] {
    return this.#results.get(subject) ?? [];
  }

  /** Resolves when every request has its result. */
  async finish(): Promise<void> {
    await this.#source.finish();
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await this.#source.stop();
  }
}

/** A 404 too: each request is for a host that has a route. */
export function lossIn(result: TrafficResult): boolean {
  if (lossOf(result) !== undefined) return true;
  return result.outcome.kind === "answered" && result.outcome.status !== 200;
}

export async function startProxies(place: ProxyPlace): Promise<readonly RunningProxy[]> {
  const proxies: RunningProxy[] = [];
  for (const subject of subjects) {
    proxies.push(
      subject === "lockstep" ? await startLockstep(place) : await startOther(subject, place),
    );
  }
  return proxies;
}

async function startOther(peer: PeerName, place: ProxyPlace): Promise<RunningProxy> {
  const { address, pids } = await startPeer(peer, { ...place, className: peer });
  return { name: peer, url: `http://${address}`, pids: () => pids };
}

/** As a user starts it. */
async function startLockstep(place: ProxyPlace): Promise<RunningProxy> {
  const { environment, folder, context, atStop } = place;
  const config = `${folder}/lockstep-kubeconfig`;
  await environment.files.write(config, kubeconfig([context]), { mode: 0o600 });
  const port = await freePort(environment, host);
  const prefix = `${folder}/lockstep`;
  const flags = {
    kubeconfig: config,
    class: "lockstep",
    "http-address": host,
    "http-port": port,
    "status-port": 0,
    prefix,
  };
  const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, String(value)]);
  const lockstep = new RealProcess({
    name: "lockstep",
    hasOwnSession: true,
    program: process.execPath,
    args: ["bin/lockstep.mjs", "ingress", ...args],
    folder,
    stopSignal: "SIGINT",
  });
  atStop(() => lockstep.stop());
  await lockstep.ready(
    async () => (await environment.files.read(`${prefix}/nginx.pid`)) !== undefined,
  );
  const master = Number(
    Buffer.from((await environment.files.read(`${prefix}/nginx.pid`)) ?? "").toString(),
  );
  const pids = () => [lockstep.pid, master, ...childrenOf(master)];
  return { name: "lockstep", url: `http://${host}:${port}`, pids };
}

export interface AskedIngress {
  readonly name: string;
  readonly className: string;
  readonly rules: readonly object[];
}

const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";

export async function createIngress(
  client: HttpKubeClient,
  { name, className, rules }: AskedIngress,
): Promise<void> {
  const body = { metadata: { name }, spec: { ingressClassName: className, rules } };
  await client.request({ verb: "create", method: "POST", path: ingresses, body });
}

export async function replaceRules(
  client: HttpKubeClient,
  { name, rules }: Omit<AskedIngress, "className">,
): Promise<void> {
  const path = `${ingresses}/${name}`;
  const contentType = "application/merge-patch+json";
  await client.request({
    verb: "patch",
    method: "PATCH",
    path,
    contentType,
    body: { spec: { rules } },
  });
}

export function ruleOf(name: string, service: string): object {
  const backend = { service: { name: service, port: { number: 80 } } };
  return { host: name, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } };
}
