// A Lockstep replica. `lockstep up` runs the whole product. A stage runs its decision loop and its pusher
// with a proxy of the stage's choice: in virtual time there is no nginx, and the API servers of a stage
// use plain HTTP, which the product does not follow to other servers.
import { type DecidedEndpoint, isRouted } from "../../decide/decision.ts";
import type { Environment } from "../../environment/environment.ts";
import type { Network } from "../../environment/network.ts";
import { IngressLoop } from "../../ingress/ingress-loop.ts";
import { IngressReplica } from "../../ingress/ingress-replica.ts";
import { DirectKubeClient } from "../../kube/client/direct-client.ts";
import type { ClusterAccess } from "../../kube/credentials/credentials.ts";
import type { RoutedWitness } from "../../observe/routed-witness.ts";
import { NginxPusher } from "../../outputs/nginx/nginx-pusher.ts";
import { freePort } from "../free-port.ts";
import { ingressClass, shopService } from "../shop.ts";
import { decisionKey, type SideReplica } from "./side.ts";

export interface WholeReplicaOptions {
  readonly environment: Environment;
  /** Where the Ingresses are, and where the pods run. */
  readonly access: ClusterAccess;
  readonly clusters: readonly ClusterAccess[];
  readonly followSlices: boolean;
  readonly host: string;
  /** The folder of its nginx. */
  readonly prefix: string;
  readonly witness: RoutedWitness;
}

/** The machine runs everything else beside the proxies, and the traffic is gentle. */
export const nginxWorkers = 1;

const readyPollMs = 20;

/** Resolves when its nginx serves by its decisions. */
export async function startWholeReplica(options: WholeReplicaOptions): Promise<SideReplica> {
  const { environment, access, clusters, followSlices, host, prefix, witness } = options;
  const { clock, timers } = environment;
  const port = await freePort(environment, host);
  const replica = new IngressReplica({
    environment,
    clusters,
    access,
    className: ingressClass,
    policy: { followSlices },
    listen: [{ address: host, port }],
    prefix,
    workers: nginxWorkers,
    status: { host, port: 0 },
    onRouted: () => witness.routed(shopService, routedBy(replica), clock.monotonicMs()),
  });
  const stop = () => replica.stop({ keepNginx: false });
  try {
    await replica.start();
    while (replica.notReadyBecause !== undefined) await timers.sleep(readyPollMs);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    address: `${host}:${port}`,
    statusUrl: `http://${host}:${replica.statusAddress?.port}`,
    problem: () => replica.notReadyBecause,
    proxyRun: () => replica.proxyRun,
    stop,
  };
}

function routedBy(replica: IngressReplica): readonly DecidedEndpoint[] {
  const decided = replica.loop.decisions.truths.get(decisionKey);
  return (decided?.truth.endpoints ?? []).filter(isRouted);
}

/** A proxy that takes decisions at a control socket. */
export interface LockstepProxy {
  readonly socketPath: string;
  /** The network on which the socket is. */
  readonly controlNetwork: Network;
  /** `host:port` at which it serves. */
  readonly address: string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface LoopReplicaOptions {
  readonly name: string;
  readonly environment: Environment;
  readonly access: ClusterAccess;
  readonly proxy: LockstepProxy;
  readonly witness: RoutedWitness;
}

export async function startLoopReplica(options: LoopReplicaOptions): Promise<SideReplica> {
  const { name, environment, access, proxy, witness } = options;
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
  return { address: proxy.address, stop };
}
