// The sides of the comparison on the stage of an incident. In real time every replica has a real nginx;
// in virtual time models take its place. The pods that a proxy tried for a request are noted.
import type { Environment } from "../../environment/environment.ts";
import type { Network } from "../../environment/network.ts";
import type { ClusterAccess } from "../../kube/credentials/credentials.ts";
import type { RoutedWitness } from "../../observe/routed-witness.ts";
import { findProxyDirectory } from "../../outputs/nginx/nginx-prefix.ts";
import { NginxProcess } from "../../outputs/nginx/nginx-process.ts";
import { NginxSupervisor } from "../../outputs/nginx/nginx-supervisor.ts";
import { TwinProxy } from "../../outputs/nginx/twin-proxy.ts";
import type { ObservablePlay, Stage } from "../incidents/stage.ts";
import { tapControl } from "../observed/control-tap.ts";
import type { HopLedger } from "../observed/hop-ledger.ts";
import type { AccessForm } from "../saved/proxy-access.ts";
import { LivePlane } from "../stock/live/live-plane.ts";
import { VirtualPlane } from "../stock/virtual/virtual-plane.ts";
import { type LockstepProxy, nginxWorkers, startLoopReplica } from "./lockstep-replica.ts";
import {
  decisionKey,
  type Side,
  type SideName,
  type SideReplica,
  startSide,
  stockBackend,
} from "./side.ts";
import { startStockReplica } from "./stock-replica.ts";
import { UpstreamLog } from "./upstream-log.ts";

export interface StageSide extends Side<StageReplica> {
  /** The pods that its replicas tried for each request, up to the last `readTries`. */
  readonly upstreams: UpstreamLog;
  readTries(): Promise<void>;
  /** Where an observer can ask its replicas and read their logs; empty where it cannot. */
  readonly observable: Pick<ObservablePlay, "proxies" | "accessLogs">;
}

export interface StageSideOptions {
  readonly stage: Stage;
  /** How a replica reaches the API servers. */
  readonly accessOf: (replica: string) => ClusterAccess;
  /** Receives the replica's own reports. */
  readonly witnessOf: (replica: string) => RoutedWitness;
  /** Records when a proxy really started to route to an address. */
  readonly hops: Pick<HopLedger, "routed">;
  /** The form that stock reads; Endpoints, as up to v1.3, unless given. */
  readonly stockReads?: "endpoints" | "endpointslices" | undefined;
}

/** Access logs of a proxy that writes them itself. */
interface AccessLogs {
  /** With the target and the upstreams of each request, as `readAccessLog` reads it. */
  readonly tries: string;
  /** The log that an operator would have. */
  readonly operator: string;
}

interface StageReplica extends SideReplica {
  /** Undefined where tries were noted as they happened. */
  readonly logs?: AccessLogs | undefined;
  /** Where it reports its routes, as ingress-nginx does; undefined where it does not. */
  readonly statusAddress?: string | undefined;
}

interface ReplicaOptions extends StageSideOptions {
  readonly name: string;
  readonly upstreams: UpstreamLog;
}

/** Every replica has its own address, and this port needs no privilege. */
const httpPort = 8080;

/** That of ingress-nginx. */
export const statusPort = 10_246;

/** nginx writes a log line up to a second late. */
const accessLogFlushMs = 1_500;

/** At the end of a play there are no requests left. */
const drainMs = 100;

export async function startStageSide(
  name: SideName,
  options: StageSideOptions,
): Promise<StageSide> {
  const { stage } = options;
  const startReplica = name === "stock" ? startStock : startLockstep;
  const upstreams = new UpstreamLog();
  const host = `${name}-entry`;
  const side = await startSide(name, {
    ...stage.environmentOf(host),
    host: stage.hostOf(host),
    port: httpPort,
    startReplica: (replica) => startReplica({ ...options, name: replica, upstreams }),
  });
  const started = [...side.replicas.values()];
  const observable = started.filter(({ statusAddress }) => statusAddress !== undefined);
  return {
    ...side,
    upstreams,
    readTries: async () => {
      const logs = started.flatMap((replica) => replica.logs ?? []);
      if (logs.length > 0) await stage.sleep(accessLogFlushMs);
      for (const { tries } of logs) upstreams.read(await textOf(stage, tries));
    },
    observable: {
      proxies: observable.flatMap(({ statusAddress }) => statusAddress ?? []),
      accessLogs: observable.flatMap(({ logs }) => logs?.operator ?? []),
    },
    stop: async () => {
      await side.entry.stop();
      for (const [replica, { logs }] of side.replicas) {
        if (logs === undefined) continue;
        stage.recorder?.accessLog(replica, await textOf(stage, logs.operator));
      }
      await side.stop();
    },
  };
}

/** Ends an nginx that is left in a folder because the play was aborted. */
export async function endNginx(environment: Environment, prefix: string): Promise<void> {
  const nginx = new NginxProcess({ ...environment, prefix, program: "nginx" });
  const master = await nginx.masterPid();
  if (master !== undefined) await nginx.endNow([master]);
}

async function textOf(stage: Stage, path: string): Promise<string> {
  const { files } = stage.environmentOf("user");
  return Buffer.from((await files.read(path)) ?? []).toString("utf8");
}

async function startStock(options: ReplicaOptions): Promise<StageReplica> {
  const { name, stage, hops } = options;
  const environment = stage.environmentOf(name);
  const host = stage.hostOf(name);
  const shared = {
    environment,
    access: options.accessOf(name),
    published: options.stockReads ?? "endpoints",
    witness: options.witnessOf(name),
    onRouted: (addresses, at) => hops.routed(name, addresses, at),
  } as const satisfies Partial<Parameters<typeof startStockReplica>[0]>;
  if (stage.mode === "virtual") {
    const network = recorded(
      options,
      "ingress-nginx",
      options.upstreams.noting(environment.network),
    );
    const isObservable = stage.onObservable !== undefined;
    const listen = { host, port: httpPort, ...(isObservable && { statusPort }) };
    const replica = await startStockReplica({
      ...shared,
      plane: (onRouted) => new VirtualPlane({ ...environment, network, ...listen, onRouted }),
    });
    return { ...replica, ...(isObservable && { statusAddress: `${host}:${statusPort}` }) };
  }
  const made: { plane?: LivePlane } = {};
  const replica = await startStockReplica({
    ...shared,
    plane: (onRouted) => {
      const prefix = stage.folderOf(name);
      const listen = { host, port: httpPort, accessLog: true };
      made.plane = new LivePlane({ ...environment, prefix, ...listen, onRouted });
      return made.plane;
    },
  });
  const { plane } = made;
  if (plane === undefined) return replica;
  const logs = { tries: plane.accessLogPath, operator: plane.plainAccessLogPath };
  return { ...replica, logs, statusAddress: plane.statusAddress };
}

async function startLockstep(options: ReplicaOptions): Promise<StageReplica> {
  const { name, stage } = options;
  const proxy = stage.mode === "live" ? await liveProxy(options) : virtualProxy(options);
  const replica = await startLoopReplica({
    name,
    environment: stage.environmentOf(name),
    access: options.accessOf(name),
    proxy,
    witness: options.witnessOf(name),
  });
  return { ...replica, logs: proxy.logs };
}

type StageProxy = LockstepProxy & Pick<StageReplica, "logs">;

/** The nginx that `lockstep ingress` runs, with the same supervisor and files. */
async function liveProxy({ stage, name, hops }: ReplicaOptions): Promise<StageProxy> {
  const environment = stage.environmentOf(name);
  const prefix = stage.folderOf(name);
  const host = stage.hostOf(name);
  const supervisor = new NginxSupervisor({
    ...environment,
    prefix,
    proxyDirectory: await findProxyDirectory(environment.files),
    listen: [{ address: host, port: httpPort }],
    workers: nginxWorkers,
  });
  const { socketPath } = supervisor;
  const log = `${prefix}/logs/access.log`;
  return {
    socketPath,
    controlNetwork: tapControl({
      network: environment.network,
      socketPath,
      service: decisionKey,
      onAddresses: (addresses) => hops.routed(name, addresses),
    }),
    address: `${host}:${httpPort}`,
    logs: { tries: log, operator: log },
    start: () => supervisor.start(),
    stop: () => supervisor.stopNginx(drainMs),
  };
}

function virtualProxy(options: ReplicaOptions): StageProxy {
  const { stage, name, hops, upstreams } = options;
  const environment = stage.environmentOf(name);
  const { network } = environment;
  const socketPath = `${stage.folderOf(name)}/control.sock`;
  const listen = { host: stage.hostOf(name), port: httpPort };
  const proxy = new TwinProxy({
    ...environment,
    network: recorded(options, "lockstep", upstreams.noting(network)),
    socketPath,
    listen,
    onPushed: ({ services }) => {
      const { tiers = [], addresses = [] } = services.get(decisionKey)?.entry ?? {};
      // The first tier gets requests as long as it can serve them.
      hops.routed(name, addresses.slice(0, tiers[0] ?? 0));
    },
  });
  return {
    socketPath,
    controlNetwork: network,
    address: `${listen.host}:${listen.port}`,
    start: () => proxy.start(),
    stop: () => proxy.stop(),
  };
}

/** The replica's network; with an access log of its requests where the stage is recorded. */
function recorded({ stage, name }: ReplicaOptions, form: AccessForm, network: Network): Network {
  const upstreamName = form === "lockstep" ? decisionKey : stockBackend;
  const { clock } = stage.environmentOf(name);
  return stage.recorder?.proxied({ name, clock, form, upstreamName }, network) ?? network;
}
