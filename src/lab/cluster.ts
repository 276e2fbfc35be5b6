// One embedded cluster: a storage, API servers in front of it, the control plane, and nodes that run
// pods. The same in real time, where all parts share one environment, and in a simulation, where
// each part runs on a machine of its own. Nothing outlives `stop`.

import type { ApiServer } from "../apiserver/api-server.ts";
import { PeerAddresses } from "../apiserver/audit/peer-addresses.ts";
import type { User } from "../apiserver/http/authentication.ts";
import type { PodListensAt } from "../apiserver/http/pod-proxy.ts";
import type { RequestObserver } from "../apiserver/http/request-record.ts";
import type { StorageEvent } from "../apiserver/storage/storage.ts";
import type { Klog } from "../components/klog.ts";
import { type ClusterAccess, fixedAccess } from "../kube/credentials/credentials.ts";
import { accountOptions } from "./cluster-access.ts";
import {
  administrator,
  commandOf,
  componentToken,
  defaultProfile,
  startServers,
} from "./cluster-servers.ts";
import { ControlPlane } from "./control-plane.ts";
import type { ControllerFlags } from "./controllers/flags.ts";
import { ComponentLogs } from "./controllers/klog/component-logs.ts";
import { controlPlaneNode } from "./controllers/kube-controllers.ts";
import type { HeartbeatGaps } from "./kubelet/heartbeat-gaps.ts";
import type { Kubelet } from "./kubelet/kubelet.ts";
import type { Ledger } from "./kubelet/ledger.ts";
import { PodLogBook } from "./kubelet/pod-log-book.ts";
import type { KubernetesServiceFlags } from "./kubernetes-service/kubernetes-service-reconciler.ts";
import type { LabEnvironment } from "./lab-environment.ts";
import { Machines } from "./machines.ts";
import type { StageRecorder } from "./saved/stage-recorder.ts";
import { type ProfileName, profileNamed } from "./versions/profiles.ts";

export interface ClusterOptions {
  /** `lab-1`; the parts are named after it. */
  readonly name: string;
  /** Where a part runs: one environment for all, or a simulated machine of that name for each. */
  readonly environmentOf: (part: string) => LabEnvironment;
  /** The address a part listens on: one for all, or the name of its simulated machine. */
  readonly hostOf: (part: string) => string;
  /** One for each API server, 0 for any free one. */
  readonly ports: readonly number[];
  /** The address of an API server, by its name and its index; that of its machine unless given. */
  readonly serverAddressOf?: (server: string, index: number) => string;
  /** How servers whose address is an IP address keep the service `kubernetes`. */
  readonly kubernetesService?: KubernetesServiceFlags;
  /** Certificate and key of the servers, and what to verify them with; plain HTTP when absent. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string };
  /** RBAC, accounts with tokens and limited requests; else every known user may do everything. */
  readonly accessControl?: boolean;
  /**
   * Every object has managedFields, as in a real cluster; otherwise only objects that were applied have
   * them. It costs 25 to 65 µs of each write, and memory.
   */
  readonly fieldOwners?: boolean;
  readonly nodes: number;
  /** Of the controllers; today's unless given. */
  readonly profile?: ProfileName;
  readonly flags?: Partial<ControllerFlags>;
  /** The first two octets of the pods' addresses: in 127.0.0.0/8 over real sockets. */
  readonly podNetwork: string;
  /** How long a pod's address rests before another gets it. */
  readonly reuseAddressAfterMs?: number;
  /** How late machines report; timely unless given. Each kubelet's can be changed as it runs. */
  readonly heartbeatGaps?: HeartbeatGaps;
  /** Where the pods report what is really true of them. */
  readonly ledger: Ledger;
  /** In the storage before the first server starts, at no request: namespaces come first. */
  readonly objects?: Iterable<object>;
  /** The token of a node's user, where the servers must know it before; drawn unless given. */
  readonly nodeToken?: (user: string) => string;
  /** How many controller managers; with more than one of them they elect who works. */
  readonly controllerManagers?: number;
  /** `--v` of the API servers. */
  readonly serverVerbosity?: number;
  /** Collects what an operator would have of it; the servers keep an audit log only for that. */
  readonly recorder?: ClusterRecorder;
  /** Keep a record of each request to any of the servers. */
  readonly observers?: readonly RequestObserver[];
  /** Called as the storage commits each change of an object, before any watch receives it. */
  readonly onStored?: (event: StorageEvent) => void;
  /** The controllers' resync period is multiplied by this, from 1 to 2; drawn unless given. */
  readonly resyncFactor?: number;
  /** Called as each server begins to listen. */
  readonly onReady?: (server: ReachableServer) => void;
}

export type ClusterRecorder = Pick<
  StageRecorder,
  "audit" | "attach" | "finish" | "isolatedReaders"
>;

/** A server, wherever it runs. */
export interface ReachableServer {
  readonly cluster: string;
  /** The cluster's name for its first server, which is what people type. */
  readonly name: string;
  readonly url: string;
  readonly token: string;
  /** The log of the server itself. */
  readonly klog: Klog;
  /** Ends this server alone. Idempotent. */
  stop(): Promise<void>;
}

/** A server in this process. */
export interface ClusterServer extends ReachableServer {
  /** For its faults. */
  readonly apiServer: ApiServer;
}

export interface Cluster<Server extends ReachableServer = ClusterServer> {
  readonly name: string;
  readonly servers: readonly Server[];
  /** Leads to the first server, with every right. */
  readonly access: ClusterAccess;
  readonly controlPlane: ControlPlane;
  readonly kubelets: readonly Kubelet[];
  /** Logs of pods that keep their own log, for `kubectl logs`; set by the program in the pod. */
  readonly logs: ComponentLogs;
  /** Takes a machine out of the cluster that goes on by itself: see `machines.ts`. */
  removeFromCluster(node: string): Promise<void>;
  /** Ends every part. Idempotent. */
  stop(): Promise<void>;
}

/** The parts of a cluster that its servers use. */
export interface ServerSurroundings {
  readonly podLogs: ComponentLogs;
  /** Of components on simulated machines, which have names and no addresses. */
  readonly podListensAt: PodListensAt;
  readonly peers: PeerAddresses;
  /** Users by token. Users of machines are added and removed with them. */
  readonly tokens: Map<string, User>;
}

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  return startClusterWith(options, (surroundings) => startServers(options, surroundings));
}

/** With servers that `start` starts: all of them, or none. */
export async function startClusterWith<Server extends ReachableServer>(
  options: ClusterOptions,
  start: (surroundings: ServerSurroundings) => Promise<readonly Server[]>,
): Promise<Cluster<Server>> {
  const { name, environmentOf, hostOf, tls } = options;
  const { clock } = environmentOf(name);
  const logs = new PodLogBook({ clock });
  const componentLogs = new ComponentLogs({ clock, otherwise: logs });
  const profile = options.profile ?? defaultProfile;
  const nodeAddresses = new Map<string, string>();
  const peers = new PeerAddresses({ known: (machine) => nodeAddresses.get(machine) });
  const tokens = new Map<string, User>();
  const components: { controlPlane?: ControlPlane } = {};
  const podListensAt: PodListensAt = (pod) => components.controlPlane?.listensAt(pod);
  const servers = await start({ podLogs: componentLogs, podListensAt, peers, tokens });
  const { url = "", token = "" } = servers[0] ?? {};
  const accessAs = (user: string): ClusterAccess =>
    fixedAccess({
      name,
      server: url,
      token: user === administrator.name ? token : componentToken(token, user),
      tls: tls === undefined ? {} : { ca: tls.ca },
    });
  const access = accessAs(administrator.name);
  const part = (machine: number) =>
    machine === 0 ? `${name}-control-plane` : `${name}-control-plane-${machine + 1}`;
  const controlPlane = new ControlPlane({
    environmentOf: (machine) => environmentOf(part(machine)),
    hostOf: (machine) => hostOf(part(machine)),
    accessOf: (component) =>
      accessAs(`system:${component === controlPlaneNode ? "node:" : ""}${component}`),
    profile,
    flags: options.flags ?? {},
    resyncFactor: options.resyncFactor,
    managers: options.controllerManagers ?? 1,
    accounts: accountOptions(options, token),
    logs: componentLogs,
    servers: servers.map(({ url: own, klog }) => ({
      command: commandOf(options, own, peers),
      klog,
    })),
  });
  components.controlPlane = controlPlane;
  const machines = new Machines({
    cluster: options,
    profile: profileNamed(profile),
    access,
    tokens,
    logs,
  });
  const { kubelets } = machines;
  for (const { node, hostIP } of kubelets) nodeAddresses.set(node, hostIP);
  const nodes = new AbortController();
  const running = machines.run(nodes.signal);
  const recorded = { name, access, servers, controlPlane };
  options.recorder?.attach(recorded);
  const stop = async (): Promise<void> => {
    await options.recorder?.finish(recorded);
    nodes.abort(new Error(`the cluster ${name} is stopping`));
    await Promise.all([controlPlane.stop(), running]);
    await Promise.all(servers.map((server) => server.stop()));
  };
  const removeFromCluster = (node: string): Promise<void> => machines.removeFromCluster(node);
  const parts = { servers, controlPlane, kubelets, logs: componentLogs };
  return { name, access, ...parts, removeFromCluster, stop };
}
