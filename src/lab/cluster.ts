// One embedded cluster: a storage, API servers in front of it, the control plane, and nodes that run
// pods. The same in real time, where all parts share one environment, and in a simulation, where
// each part runs on a machine of its own. Nothing outlives `stop`.
import type { ListenOptions } from "../environment/network.ts";
import { HttpKubeClient } from "../kube/client/http-client.ts";
import { type ClusterAccess, fixedAccess } from "../kube/credentials/credentials.ts";
import { ApiServer } from "./apiserver/api-server.ts";
import { allKinds } from "./apiserver/kinds/all-kinds.ts";
import { MemoryStorage } from "./apiserver/storage/memory-storage.ts";
import { ControlPlane } from "./control-plane.ts";
import { componentPodName } from "./controllers/component-pod.ts";
import type { ControllerFlags } from "./controllers/flags.ts";
import { ComponentLogs } from "./controllers/klog/component-logs.ts";
import { Klog } from "./controllers/klog/klog.ts";
import { controllerManager, controlPlaneNode } from "./controllers/kube-controllers.ts";
import { type ProfileName, profileNamed } from "./controllers/profiles.ts";
import { Kubelet } from "./kubelet/kubelet.ts";
import type { Ledger } from "./kubelet/ledger.ts";
import { PodAddresses } from "./kubelet/pod-addresses.ts";
import { PodLogBook } from "./kubelet/pod-log-book.ts";
import type { LabEnvironment } from "./lab-environment.ts";

export interface ClusterOptions {
  /** `lab-1`; the parts are named after it. */
  readonly name: string;
  /** Where a part runs: one environment for all, or a simulated machine of that name for each. */
  readonly environmentOf: (part: string) => LabEnvironment;
  /** The address a part listens on: one for all, or the name of its simulated machine. */
  readonly hostOf: (part: string) => string;
  /** One for each API server, 0 for any free one. */
  readonly ports: readonly number[];
  /** Certificate and key of the servers, and what to verify them with; plain HTTP when absent. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string };
  readonly nodes: number;
  /** Of the controllers; today's unless given. */
  readonly profile?: ProfileName;
  readonly flags?: Partial<ControllerFlags>;
  /** The first two octets of the pods' addresses: in 127.0.0.0/8 over real sockets. */
  readonly podNetwork: string;
  /** How long a pod's address rests before another gets it. */
  readonly reuseAddressAfterMs?: number;
  /** Where the pods report what is really true of them. */
  readonly ledger: Ledger;
  /** Called as each server begins to listen. */
  readonly onReady?: (server: ClusterServer) => void;
}

export interface ClusterServer {
  readonly cluster: string;
  /** The cluster's name for its first server, which is what people type. */
  readonly name: string;
  readonly url: string;
  readonly token: string;
  /** For its faults. */
  readonly apiServer: ApiServer;
}

export interface Cluster {
  readonly name: string;
  readonly servers: readonly ClusterServer[];
  /** Leads to the first server, with every right. */
  readonly access: ClusterAccess;
  readonly controlPlane: ControlPlane;
  readonly kubelets: readonly Kubelet[];
  /** Ends every part. Idempotent. */
  stop(): Promise<void>;
}

/** What `/version` says: the version whose behaviour the server follows, and that it is ours. */
export const labGitVersion = "v1.33.0+lockstep";

const defaultProfile: ProfileName = "1.33";

/** Whoever has the lab's kubeconfig may do everything in it. */
const administrator = { name: "lab-admin", groups: ["system:masters"] };

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { name, environmentOf, hostOf, tls } = options;
  const { clock } = environmentOf(name);
  const klog = new Klog({ clock });
  const logs = new PodLogBook({ clock });
  const componentLogs = new ComponentLogs({ clock, otherwise: logs });
  componentLogs.set(componentPodName(controllerManager, controlPlaneNode), klog);
  const servers = await startServers(options, componentLogs);
  const { url = "", token = "" } = servers[0] ?? {};
  const access = fixedAccess({
    name,
    server: url,
    token,
    tls: tls === undefined ? {} : { ca: tls.ca },
  });
  const part = `${name}-control-plane`;
  const controlPlane = new ControlPlane({
    environment: environmentOf(part),
    host: hostOf(part),
    access,
    profile: options.profile ?? defaultProfile,
    flags: options.flags ?? {},
    klog,
  });
  const kubelets = makeKubelets(options, access, logs);
  const nodes = new AbortController();
  const running = kubelets.map((kubelet) => kubelet.run(nodes.signal));
  const stop = async (): Promise<void> => {
    nodes.abort(new Error(`the cluster ${name} is stopping`));
    await Promise.all([controlPlane.stop(), ...running]);
    await Promise.all(servers.map(({ apiServer }) => apiServer.stop()));
  };
  return { name, servers, access, controlPlane, kubelets, stop };
}

/** All of them, or none when one cannot listen. */
async function startServers(
  options: ClusterOptions,
  podLogs: ComponentLogs,
): Promise<readonly ClusterServer[]> {
  const { name, environmentOf, hostOf, tls } = options;
  const { clock, random } = environmentOf(name);
  const token = random.uuid();
  const storage = new MemoryStorage({ clock });
  const servers: ClusterServer[] = [];
  const made: ApiServer[] = [];
  try {
    for (const [index, port] of options.ports.entries()) {
      const own = index === 0 ? name : `${name}-server-${index + 1}`;
      const apiServer = new ApiServer({
        ...environmentOf(own),
        storage,
        name: own,
        gitVersion: labGitVersion,
        authentication: { tokens: new Map([[token, administrator]]) },
        podLogs,
        kinds: kindsOf(options.profile ?? defaultProfile),
      });
      made.push(apiServer);
      const host = hostOf(own);
      const listen = { host, port, ...(tls === undefined ? {} : { tls }) };
      const url = urlOf(listen, (await apiServer.start(listen)).port);
      const server = { cluster: name, name: own, url, token, apiServer };
      servers.push(server);
      options.onReady?.(server);
    }
  } catch (error) {
    await Promise.all(made.map((apiServer) => apiServer.stop()));
    throw error;
  }
  return servers;
}

/** An API server of before EndpointSlices has none. */
function kindsOf(profile: ProfileName): typeof allKinds {
  if (profileNamed(profile).endpointSlices) return allKinds;
  return allKinds.filter(({ kind }) => kind !== "EndpointSlice");
}

function makeKubelets(
  options: ClusterOptions,
  cluster: ClusterAccess,
  logs: PodLogBook,
): readonly Kubelet[] {
  const { name, environmentOf, podNetwork, reuseAddressAfterMs, ledger } = options;
  const { clock } = environmentOf(name);
  const addresses = new PodAddresses({
    clock,
    network: podNetwork,
    ...(reuseAddressAfterMs === undefined ? {} : { reuseAfterMs: reuseAddressAfterMs }),
  });
  return Array.from({ length: options.nodes }, (_, index) => {
    const node = `${name}-node-${index + 1}`;
    const environment = environmentOf(node);
    const userAgent = "kubelet/v1.33.0 (lockstep lab)";
    const client = new HttpKubeClient({ ...environment, cluster, userAgent });
    return new Kubelet({ ...environment, client, cluster: name, node, addresses, ledger, logs });
  });
}

function urlOf({ host, tls }: ListenOptions, port: number): string {
  const scheme = tls === undefined ? "http" : "https";
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
