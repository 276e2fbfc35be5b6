// The two sides of the comparison: replicas behind an entry that stands for the load balancer. Stock
// replicas are the labelled model; a Lockstep replica is the real decision loop and the real pusher.
// In real time every replica has a real nginx; in virtual time the twin of the proxy is in its place.
import { type DecidedEndpoint, isRouted } from "../../decide/decision.ts";
import type { Network } from "../../environment/network.ts";
import { IngressLoop } from "../../ingress/ingress-loop.ts";
import { DirectKubeClient } from "../../kube/client/direct-client.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import type { ClusterAccess } from "../../kube/credentials/credentials.ts";
import type { RoutedWitness } from "../../observe/routed-witness.ts";
import { NginxPusher } from "../../outputs/nginx/nginx-pusher.ts";
import { TwinProxy } from "../../outputs/nginx/twin-proxy.ts";
import {
  type AccessLogs,
  accessLogFlushMs,
  liveLockstepProxy,
  liveStockPlane,
} from "../incidents/live-proxies.ts";
import type { ObservablePlay, Stage } from "../incidents/stage.ts";
import { tapControl } from "../observed/control-tap.ts";
import type { HopLedger } from "../observed/hop-ledger.ts";
import type { AccessForm } from "../saved/proxy-access.ts";
import { ingressClass, shopPort, shopService } from "../shop.ts";
import { StockController } from "../stock/stock-controller.ts";
import type { OnRouted, StockPlane } from "../stock/stock-plane.ts";
import { VirtualPlane } from "../stock/virtual/virtual-plane.ts";
import { Entry } from "../traffic/entry.ts";
import { UpstreamLog } from "./upstream-log.ts";

export type SideName = "stock" | "lockstep";

export interface IngressSide {
  readonly name: SideName;
  /** `http://host:port` of the entry. */
  readonly url: string;
  /** Which pods its replicas tried for which request, until `readTries` was last called. */
  readonly upstreams: UpstreamLog;
  readTries(): Promise<void>;
  /** What its replicas tell whoever asks; nothing where they tell nobody. */
  readonly told: Pick<ObservablePlay, "proxies" | "accessLogs">;
  /** Idempotent. */
  stop(): Promise<void>;
}

export interface IngressSideOptions {
  readonly stage: Stage;
  /** How a replica reaches the API servers. */
  readonly accessOf: (replica: string) => ClusterAccess;
  /** Where a replica says what it routes to. */
  readonly witnessOf: (replica: string) => RoutedWitness;
  /** Where its proxy notes when it really began to. */
  readonly hops: Pick<HopLedger, "routed">;
}

/** As many as the write-ups had, and enough to see them differ. */
export const replicas = 3;

/** Every replica has an address of its own, and this port needs no privilege. */
const httpPort = 8080;

/** That of ingress-nginx. */
export const statusPort = 10_246;

/** The shop's service port as the decisions and as the stock model name it. */
const decisionKey = `${shopService}:${shopPort}`;
export const stockBackend = `${shopService.replace("/", "-")}-${shopPort}`;

interface Replica {
  /** Where it wrote its tries itself; undefined where they were noted as they happened. */
  readonly logs?: AccessLogs | undefined;
  /** Where it says what it routes to; undefined where it does not. */
  readonly statusAddress?: (() => string) | undefined;
  stop(): Promise<void>;
}

interface ReplicaOptions extends IngressSideOptions {
  readonly name: string;
  readonly upstreams: UpstreamLog;
}

/** What a Lockstep replica needs of its proxy. */
interface LockstepProxy extends Replica {
  readonly socketPath: string;
  /** By which the socket is spoken to. */
  readonly controlNetwork: Network;
  start(): Promise<void>;
}

/** In the order in which they are started, each also the name of its machine. */
export function replicaNames(side: SideName): readonly string[] {
  return Array.from({ length: replicas }, (_, index) => `${side}-${index + 1}`);
}

export async function startSide(name: SideName, options: IngressSideOptions): Promise<IngressSide> {
  const startReplica = name === "stock" ? startStockReplica : startLockstepReplica;
  const upstreams = new UpstreamLog();
  const names = replicaNames(name);
  const started = new Map<string, Replica>();
  for (const replica of names) {
    started.set(replica, await startReplica({ ...options, name: replica, upstreams }));
  }
  const { stage } = options;
  const host = `${name}-entry`;
  const { clock, network } = stage.environmentOf(host);
  const targets = names.map((replica) => ({
    name: replica,
    address: `${stage.hostOf(replica)}:${httpPort}`,
  }));
  const listen = { host: stage.hostOf(host), port: httpPort };
  const entry = new Entry({ clock, network, ...listen, replicas: targets });
  await entry.start();
  const readTries = () => readLogs(options, upstreams, started);
  const stop = async (): Promise<void> => {
    await entry.stop();
    await keepLogs(options, started);
    await Promise.all([...started.values()].map((replica) => replica.stop()));
  };
  const telling = [...started.values()].filter(({ statusAddress }) => statusAddress !== undefined);
  const told = {
    proxies: telling.flatMap(({ statusAddress }) => statusAddress?.() ?? []),
    accessLogs: telling.flatMap(({ logs }) => logs?.kept ?? []),
  };
  return { name, url: entry.url, upstreams, readTries, told, stop };
}

/** What the proxies have written of their tries, once all of it is written. */
async function readLogs(
  { stage }: IngressSideOptions,
  upstreams: UpstreamLog,
  started: ReadonlyMap<string, Replica>,
): Promise<void> {
  const logs = [...started.values()].flatMap((replica) => replica.logs ?? []);
  if (logs.length > 0) await stage.sleep(accessLogFlushMs);
  for (const { tries } of logs) upstreams.read(await textOf(stage, tries));
}

async function keepLogs(
  { stage }: IngressSideOptions,
  started: ReadonlyMap<string, Replica>,
): Promise<void> {
  for (const [replica, { logs }] of started) {
    if (logs !== undefined) stage.recorder?.accessLog(replica, await textOf(stage, logs.kept));
  }
}

async function textOf(stage: Stage, path: string): Promise<string> {
  const { files } = stage.environmentOf("user");
  return Buffer.from((await files.read(path)) ?? []).toString("utf8");
}

async function startStockReplica(options: ReplicaOptions): Promise<Replica> {
  const { name, stage } = options;
  const access = options.accessOf(name);
  const environment = stage.environmentOf(name);
  const witness = options.witnessOf(name);
  const { plane, logs, statusAddress } = stockPlane(options, (backends, at) => {
    const { endpoints = [] } = backends.find((one) => one.name === stockBackend) ?? {};
    options.hops.routed(name, addressesOf(endpoints), at);
    witness.routed(shopService, endpoints, environment.clock.monotonicMs());
  });
  const controller = new StockController({
    ...environment,
    client: new HttpKubeClient({ ...environment, cluster: access, userAgent: "stock" }),
    cluster: access.name,
    published: "endpoints",
    plane,
  });
  await controller.start();
  return { logs, statusAddress, stop: () => controller.stop() };
}

function stockPlane(
  options: ReplicaOptions,
  onRouted: OnRouted,
): Pick<Replica, "logs" | "statusAddress"> & { readonly plane: StockPlane } {
  const { name, stage, upstreams } = options;
  if (stage.mode === "live") return liveStockPlane({ stage, name, port: httpPort }, onRouted);
  const environment = stage.environmentOf(name);
  const network = recorded(options, "ingress-nginx", upstreams.noting(environment.network));
  const host = stage.hostOf(name);
  const asked = stage.onObservable === undefined ? {} : { statusPort };
  const listen = { host, port: httpPort, ...asked };
  const plane = new VirtualPlane({ ...environment, network, ...listen, onRouted });
  return { plane, ...(stage.onObservable && { statusAddress: () => `${host}:${statusPort}` }) };
}

async function startLockstepReplica(options: ReplicaOptions): Promise<Replica> {
  const { name, stage } = options;
  const access = options.accessOf(name);
  const environment = stage.environmentOf(name);
  const proxy = await lockstepProxy(options);
  const witness = options.witnessOf(name);
  /** By version, from the one that is routed on. */
  const decided = new Map<number, readonly DecidedEndpoint[]>();
  const pusher = new NginxPusher({
    ...environment,
    network: proxy.controlNetwork,
    socketPath: proxy.socketPath,
    onRouted: (service, version, at) => {
      if (service !== decisionKey) return;
      const endpoints = decided.get(version) ?? [];
      for (const older of decided.keys()) if (older < version) decided.delete(older);
      witness.routed(shopService, endpoints, at);
    },
  });
  const client = new DirectKubeClient({
    ...environment,
    cluster: access,
    userAgent: "lockstep",
    plainServers: "trusted",
  });
  const cluster = { name: access.name, client };
  const loop = new IngressLoop({
    ...environment,
    clusters: [cluster],
    access: cluster,
    className: ingressClass,
    policy: { followSlices: false },
    output: pusher,
    proxy: pusher,
    onTruth: ({ service, version, after }) => {
      if (service === decisionKey) decided.set(version, after?.endpoints.filter(isRouted) ?? []);
    },
  });
  await proxy.start();
  pusher.start();
  const stopping = new AbortController();
  const running = loop.run(stopping.signal);
  const stop = async (): Promise<void> => {
    stopping.abort(new Error(`${name} is stopping`));
    await running;
    await pusher.stop();
    await proxy.stop();
  };
  return { logs: proxy.logs, stop };
}

async function lockstepProxy(options: ReplicaOptions): Promise<LockstepProxy> {
  const { name, stage, upstreams } = options;
  const environment = stage.environmentOf(name);
  const { network } = environment;
  if (stage.mode === "live") {
    const proxy = await liveLockstepProxy({ stage, name, port: httpPort });
    const onTold = (addresses: readonly string[]) => options.hops.routed(name, addresses);
    const tap = { network, socketPath: proxy.socketPath, service: decisionKey, onTold };
    return { ...proxy, controlNetwork: tapControl(tap) };
  }
  const socketPath = `${stage.folderOf(name)}/control.sock`;
  const proxy = new TwinProxy({
    ...environment,
    network: recorded(options, "lockstep", upstreams.noting(network)),
    socketPath,
    listen: { host: stage.hostOf(name), port: httpPort },
    onTold: ({ services }) => {
      const { tiers = [], addresses = [] } = services.get(decisionKey)?.entry ?? {};
      // Those that get a request as long as they can serve it.
      options.hops.routed(name, addresses.slice(0, tiers[0] ?? 0));
    },
  });
  return {
    socketPath,
    controlNetwork: network,
    start: () => proxy.start(),
    stop: () => proxy.stop(),
  };
}

function addressesOf(endpoints: readonly { readonly address: string }[]): readonly string[] {
  return endpoints.map(({ address }) => address);
}

/** The replica's network; with an access log of what goes through it where one is wanted. */
function recorded({ stage, name }: ReplicaOptions, form: AccessForm, network: Network): Network {
  const upstreamName = form === "lockstep" ? decisionKey : stockBackend;
  const { clock } = stage.environmentOf(name);
  return stage.recorder?.proxied({ name, clock, form, upstreamName }, network) ?? network;
}
